import type { Outcome, State } from './call.ts';
import {
  type ChangeOfMany,
  csvField,
  type Filter,
  fileOf,
  type Import,
  jsonOf,
  type Patch,
  type Plant,
  type PlantRequest,
} from './requests.ts';

const DEFAULT_LIMIT = 100;
const DEFAULT_MAX_ERRORS = 1000;

/** The plants that match, in the order of their ids. */
const matching = ({ plants }: State, { tag, q, ids }: Filter): [string, Plant][] =>
  [...plants]
    .filter(([id, plant]) => {
      if (ids !== undefined && !ids.includes(id)) return false;
      if (tag !== undefined && plant.tag !== tag) return false;
      return q === undefined || plant.name.toLowerCase().includes(q.toLowerCase());
    })
    .sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));

/** The page of a list. */
export const listBody = (state: State, request: Extract<PlantRequest, { kind: 'list' }>) => {
  const { filter, limit = DEFAULT_LIMIT, after } = request;
  const rest = matching(state, filter).filter(([id]) => after === undefined || BigInt(id) > BigInt(after));
  const page = rest.slice(0, limit).map(([id, plant]) => jsonOf(id, plant));
  return { text: `[${page}]`, hasNext: rest.length > limit };
};

export const exportBody = (state: State, { format, filter }: Extract<PlantRequest, { kind: 'export' }>) => {
  const lines = matching(state, filter).map(([id, plant]) =>
    format === 'ndjson' ? jsonOf(id, plant) : [id, csvField(plant.name), csvField(plant.tag)].join(','),
  );
  return { text: [...(format === 'csv' ? ['id,name,tag'] : []), ...lines].map((line) => `${line}\n`).join('') };
};

/** Changes or deletes the first plants that match and would not stay as they are. */
export const manyOutcome = (state: State, { filter, change, limit, dryRun }: ChangeOfMany): Outcome => {
  const chosen = matching(state, filter)
    .filter(([id, plant]) => change === undefined || jsonOf(id, patched(plant, change)) !== jsonOf(id, plant))
    .slice(0, limit);
  const plants = new Map(state.plants);
  for (const [id, plant] of chosen) {
    if (change) plants.set(id, patched(plant, change));
    else plants.delete(id);
  }
  const text = `{"${change ? 'updated' : 'deleted'}":${chosen.length}}`;
  return { expected: { status: 200, text }, next: dryRun ? state : { ...state, plants } };
};

/** RFC 7396. */
export const patched = (plant: Plant, { name = plant.name, tag = plant.tag ?? null }: Patch): Plant =>
  tag === null ? { name } : { name, tag };

type Failure = { line: number; id?: string; error: number };
type Counts = { created: number; replaced: number; skipped: number; failed: number };

export const importOutcome = (state: State, request: Import): Outcome => {
  const { mode, maxErrors = DEFAULT_MAX_ERRORS } = request;
  const { counts, failures, plants } = readRows(state, request);
  if (failures.length > (mode === 'atomic' ? 0 : maxErrors)) {
    const check = (text: string) => findRefusalDifference(text, failures, maxErrors);
    return { expected: { status: 400, check }, next: state };
  }
  const body = { ...counts, errors: failures };
  const next = mode === 'dryRun' ? state : { ...state, plants };
  return { expected: { status: 200, check: (text) => findDifference(text, body) }, next };
};

/** What becomes of each row. The first row with an id wins. */
const readRows = (state: State, { format, rows, onConflict = 'error' }: Import) => {
  const { lines } = fileOf({ format, rows });
  const counts: Counts = { created: 0, replaced: 0, skipped: 0, failed: 0 };
  const failures: Failure[] = [];
  const plants = new Map(state.plants);
  const seen = new Set<string>();
  for (const [index, row] of rows.entries()) {
    const line = lines[index] as number;
    const isTaken = typeof row === 'object' && (seen.has(row.id) || state.plants.has(row.id));
    if (row === 'blank' && format !== 'json') continue;
    if (typeof row === 'string') {
      const hasId = row === 'without a name' && format !== 'csv';
      failures.push({ line, ...(hasId && { id: '7' }), error: 1003 });
    } else if (isTaken && onConflict === 'skip') counts.skipped += 1;
    else if (isTaken && (onConflict === 'error' || seen.has(row.id))) {
      failures.push({ line, id: row.id, error: 1004 });
    } else {
      counts[isTaken ? 'replaced' : 'created'] += 1;
      plants.set(row.id, row.plant);
    }
    if (typeof row === 'object') seen.add(row.id);
  }
  return { counts: { ...counts, failed: failures.length }, failures, plants };
};

type Summary = Counts & { errors: Failure[]; stoppedAt?: number; error?: number; message?: string };

/** Ids keep their digits, as text. */
const parseSummary = (text: string): Summary => {
  const keepIds = (key: string, value: unknown, { source }: { source?: string } = {}) =>
    key === 'id' ? source : value;
  const { errors, ...body } = JSON.parse(text, keepIds as (key: string, value: unknown) => unknown);
  return { ...body, errors: errors.map(({ line, id, error }: Failure) => ({ line, ...(id && { id }), error })) };
};

const findDifference = (text: string, expected: Counts & { errors: Failure[] }): string | undefined => {
  const { created, replaced, skipped, failed, errors } = parseSummary(text);
  const [actual, wanted] = [{ created, replaced, skipped, failed, errors }, expected].map((body) =>
    JSON.stringify(body),
  );
  return actual === wanted ? undefined : `${wanted} expected`;
};

/**
 * Too many rows failed, so nothing is stored. If rows that are wrong are already too many, those whose id is taken need not be listed,
 * and rows after the last error need not be counted.
 */
const findRefusalDifference = (text: string, failures: Failure[], maxErrors: number): string | undefined => {
  const { failed, errors, stoppedAt, error, message, ...stored } = parseSummary(text);
  if (Object.values(stored).some((count) => count > 0)) return 'no stored rows expected';
  const first = (some: Failure[]) => JSON.stringify(some.slice(0, maxErrors + 1));
  const wrong = failures.filter((failure) => failure.error !== 1004);
  const allowed = [first(failures), ...(wrong.length > maxErrors ? [first(wrong)] : [])];
  if (!allowed.includes(JSON.stringify(errors))) return `errors ${allowed[0]} expected`;
  const least = Math.min(failures.length, maxErrors + 1);
  if (failed < least || failed > failures.length) return `failed: ${least} expected, or more`;
  const last = errors.at(-1);
  if (stoppedAt !== last?.line || error !== last?.error) return 'stoppedAt and error must be those of the last error';
  return message?.endsWith('Nothing is stored.') ? undefined : 'message must say that nothing is stored';
};
