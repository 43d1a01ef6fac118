import { exportBody, importOutcome, listBody, manyOutcome, patched } from './bulk-model.ts';
import type { Call, Expected, Outcome, State } from './call.ts';
import { jsonOf, type Plant, type PlantRequest } from './requests.ts';
import { scopesOf } from './tokens.ts';
import { WRONG_REQUESTS, type WrongRequest } from './wrong-requests.ts';

const CHALLENGE = 'Bearer realm="plants"';

/** The outcomes that the contract allows for a request, if it is carried out now. Usually there is one. */
export const outcomesOf = (state: State, call: Call): Outcome[] => {
  const refused = (expected: Expected): Outcome => ({ expected, next: state });
  // The method is checked before the token.
  if (wrongRequestOf(call)?.status === 405) return [refused({ status: 405, error: 1202 })];
  if (call.token === 'none') return [refused({ status: 401, error: 1100, headers: { 'www-authenticate': CHALLENGE } })];
  const invalid = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
  const noToken = refused({ status: 401, error: 1101, headers: invalid });
  if (call.verdict === 'refused') return [noToken];
  const outcomes = withToken(state, call);
  return call.verdict === 'either' ? [noToken, ...outcomes] : outcomes;
};

const withToken = (state: State, call: Call): Outcome[] => {
  const { request, token } = call;
  const needed = scopesFor(request);
  if (needed.some((scope) => !scopesOf(token).includes(scope))) {
    const challenge = `${CHALLENGE}, error="insufficient_scope", scope="${needed.join(' ')}"`;
    return [{ expected: { status: 403, error: 1102, headers: { 'www-authenticate': challenge } }, next: state }];
  }
  const wrong = wrongRequestOf(call);
  if (wrong) return wrongOutcomes(state, call, wrong);
  if (call.fingerprint === undefined) return [act(state, call)];
  const { keyName, fingerprint } = call;
  const kept = state.kept.get(keyName);
  if (kept && kept.fingerprint !== fingerprint) return [{ expected: { status: 422, error: 1301 }, next: state }];
  if (kept) return [{ expected: { ...kept.expected, isReplayed: true, first: kept.first }, next: state }];
  return [keep(act(state, call), call)];
};

const keep = ({ expected, next }: Outcome, call: Call): Outcome => {
  const answer = { fingerprint: call.fingerprint ?? '', expected, first: call };
  return { expected, next: { ...next, kept: new Map([...next.kept, [call.keyName, answer]]) } };
};

const scopesFor = (request: PlantRequest): string[] => {
  switch (request.kind) {
    case 'read':
    case 'list':
    case 'export':
      return ['plants:read'];
    case 'patch':
      return ['plants:read', 'plants:write'];
    case 'many':
      return [...(request.change ? ['plants:read'] : []), 'plants:write'];
    case 'wrong': {
      const { method } = WRONG_REQUESTS[request.index] as WrongRequest;
      if (method === 'PATCH') return ['plants:read', 'plants:write'];
      return [method === 'GET' ? 'plants:read' : 'plants:write'];
    }
    default:
      return ['plants:write'];
  }
};

const wrongRequestOf = ({ request }: Call): WrongRequest | undefined =>
  request.kind === 'wrong' ? WRONG_REQUESTS[request.index] : undefined;

/** Nothing is kept for a request that is wrong in itself. Which of two errors comes first is not promised. */
const wrongOutcomes = (state: State, call: Call, { status, error }: WrongRequest): Outcome[] => {
  const outcome = { expected: { status, error }, next: state };
  const reused = { expected: { status: 422, error: 1301 }, next: state };
  return state.kept.has(call.keyName) ? [outcome, reused] : [outcome];
};

/** Carries out a request. */
const act = (state: State, call: Call): Outcome => {
  const { request } = call;
  switch (request.kind) {
    case 'list':
      return { expected: { status: 200, ...listBody(state, request) }, next: state };
    case 'export':
      return { expected: { status: 200, ...exportBody(state, request) }, next: state };
    case 'import':
      return importOutcome(state, request);
    case 'many':
      return manyOutcome(state, request);
    case 'create': {
      const { id, plant } = request;
      if (state.plants.has(id)) return { expected: { status: 400, error: 1004 }, next: state };
      return { expected: { status: 200, ...ownBody(id, plant) }, next: withPlant(state, id, plant) };
    }
    case 'wrong':
      throw new Error('has no effect');
    default:
      return actOnOne(state, call, request);
  }
};

const actOnOne = (
  state: State,
  { precondition }: Call,
  request: Extract<PlantRequest, { kind: 'read' | 'replace' | 'patch' | 'remove' }>,
): Outcome => {
  const { id } = request;
  const plant = state.plants.get(id);
  if (plant === undefined) return { expected: { status: 404, error: 1201 }, next: state };
  const version = versionOf(id, plant);
  const isMet = precondition === undefined || precondition.isMet(version);
  if (request.kind === 'read') {
    if (!isMet && precondition?.header === 'If-None-Match') {
      return { expected: { status: 304, text: '', etag: version, needsEtag: true }, next: state };
    }
    if (!isMet) return { expected: { status: 412, error: 1204 }, next: state };
    return { expected: { status: 200, text: jsonOf(id, plant), etag: version, needsEtag: true }, next: state };
  }
  if (!isMet) return { expected: { status: 412, error: 1204 }, next: state };
  if (request.kind === 'remove') {
    const plants = new Map(state.plants);
    plants.delete(id);
    return { expected: { status: 204, text: '' }, next: { ...state, plants } };
  }
  const changed = request.kind === 'replace' ? request.plant : patched(plant, request.change);
  return { expected: { status: 200, ...ownBody(id, changed) }, next: withPlant(state, id, changed) };
};

/** The body of a response to a change has no id. An `ETag` is not promised; if there is one, it must be right. */
const ownBody = (id: string, { name, tag }: Plant) => ({
  text: JSON.stringify(tag === undefined ? { name } : { name, tag }),
  etag: versionOf(id, { name, ...(tag !== undefined && { tag }) }),
});

const withPlant = (state: State, id: string, plant: Plant): State => ({
  ...state,
  plants: new Map([...state.plants, [id, plant]]),
});

/** Names what a plant is at a time. Its entity tag is the same if, and only if, this is. */
export const versionOf = (id: string, plant: Plant): string => jsonOf(id, plant);
