import type { Call, State } from './call.ts';
import type { EntityTags } from './entity-tags.ts';
import type { Precondition, Sent } from './operations.ts';
import { type HttpRequest, idOf, type PlantRequest, toHttp } from './requests.ts';
import { versionOf } from './store-model.ts';
import type { Tokens } from './tokens.ts';
import { WRONG_REQUESTS, type WrongRequest } from './wrong-requests.ts';

/** The requests whose key counts. */
const WITH_KEY: readonly PlantRequest['kind'][] = ['create', 'replace', 'patch', 'remove'];

/** Wrong tokens are limited by address. */
let address = 0;
const nextAddress = () => {
  address = (address + 1) % 2 ** 16;
  return `10.0.${address >> 8}.${address & 255}`;
};

type Context = { state: State; tags: EntityTags; tokens: Tokens };

/** Makes the HTTP request, with the entity tags of the plant as it is before the step. */
export const toCall = ({ instance, token, request, precondition, key }: Sent, context: Context): Call => {
  const http = request.kind === 'wrong' ? (WRONG_REQUESTS[request.index] as WrongRequest) : toHttp(request);
  const condition = precondition && resolve(precondition, idOf(request), context);
  const meaning = JSON.stringify([http.method, http.path, condition?.header, condition?.value, http.body]);
  const headers = {
    ...http.headers,
    ...authorization(context.tokens.textOf(token)),
    ...(condition && { [condition.header]: condition.value }),
    ...(key && { 'Idempotency-Key': key }),
  };
  return {
    instance,
    token,
    request,
    precondition: condition,
    verdict: 'accepted',
    http: { ...http, headers },
    keyName: `${token} ${key ?? ''}`,
    fingerprint: key !== undefined && WITH_KEY.includes(request.kind) ? meaning : undefined,
  };
};

const authorization = (text: string | undefined) => ({
  'X-Forwarded-For': nextAddress(),
  ...(text && { Authorization: `Bearer ${text}` }),
});

/** The same request once more. */
export const repeatCall = (call: Call, instance: 0 | 1, isSpelledDifferently: boolean): Call => {
  const { answer, ...rest } = call;
  if (call.request.kind === 'wrong') throw new Error('is not repeated');
  const { headers, ...http } = toHttp(call.request, isSpelledDifferently);
  const sent = { ...call.http.headers, ...headers };
  const key = sent['Idempotency-Key'] as string;
  if (isSpelledDifferently) sent['Idempotency-Key'] = key.startsWith('"') ? key.slice(1, -1) : `"${key}"`;
  return { ...rest, instance, http: { ...(http as HttpRequest), headers: sent } };
};

const FOREIGN = '"of another plant"';

const resolve = ({ header, tags: choices }: Precondition, id: string | undefined, { state, tags }: Context) => {
  const plant = id === undefined ? undefined : state.plants.get(id);
  const current = id === undefined || plant === undefined ? undefined : versionOf(id, plant);
  const strong: string[] = [];
  const weak: string[] = [];
  const members = choices.map((choice): string => {
    if (choice === '*') return choice;
    const earlier = id === undefined ? undefined : tags.earlier(id, current);
    const tag = current === undefined ? undefined : tags.get(current);
    if (choice === 'earlier' && earlier) {
      strong.push(earlier[0]);
      return earlier[1];
    }
    if (choice === 'foreign' || choice === 'earlier' || current === undefined || tag === undefined) return FOREIGN;
    (choice === 'weak' ? weak : strong).push(current);
    return choice === 'weak' ? `W/${tag}` : tag;
  });
  const isListed = (version: string) =>
    choices.includes('*') || strong.includes(version) || (header === 'If-None-Match' && weak.includes(version));
  return {
    header,
    value: members.join(', '),
    isMet: (version: string) => (header === 'If-Match' ? isListed(version) : !isListed(version)),
  };
};
