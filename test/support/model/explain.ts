import type { Call, Expected, State } from './call.ts';
import type { EntityTags } from './entity-tags.ts';
import { type Answer, errorOf } from './http-client.ts';
import type { Plant } from './requests.ts';
import { outcomesOf } from './store-model.ts';

type Explained = {
  /** The states in which the store may have been before. */
  states: readonly State[];
  /** Requests that were sent at once. Those without an answer may have been carried out, or may still be. */
  calls: readonly Call[];
  /** The plants in the table afterwards. */
  table: ReadonlyMap<string, Plant>;
  tags: EntityTags;
};

/**
 * Finds all orders in which the requests explain their answers and the table.
 * @returns the states in which the store may be; none if no order does
 */
export const explain = ({ states, calls, table, tags }: Explained): State[] => {
  const found = new Map<string, State>();
  const wanted = textOfPlants(table);
  const add = (state: State) => {
    const kept = [...state.kept].map(([key, { fingerprint, expected }]) => [key, fingerprint, expected.status]);
    const key = JSON.stringify(kept);
    if (state.left.length >= (found.get(key)?.left.length ?? 0)) found.set(key, state);
  };
  const search = (state: State, waiting: readonly Call[]) => {
    const left = waiting.filter(({ answer }) => answer === undefined);
    if (left.length === waiting.length && textOfPlants(state.plants) === wanted) add({ ...state, left });
    for (const call of waiting) {
      const others = waiting.filter((other) => other !== call);
      for (const { expected, next } of outcomesOf(state, call)) {
        const isPossible = call.answer ? findDifference(expected, call.answer, tags) === undefined : next !== state;
        if (isPossible) search(next, others);
      }
    }
  };
  for (const state of states) search(state, [...calls, ...state.left]);
  return [...found.values()];
};

const textOfPlants = (plants: ReadonlyMap<string, Plant>): string =>
  JSON.stringify([...plants].map(([id, { name, tag }]) => [id, name, tag ?? null]).sort());

/** @returns how an answer differs from what is expected */
export const findDifference = (expected: Expected, answer: Answer, tags: EntityTags): string | undefined => {
  const { status, headers, text } = answer;
  if (status !== expected.status) return `status ${expected.status} expected`;
  if (expected.error !== undefined && text !== '' && errorOf(answer) !== expected.error)
    return `error ${expected.error} expected`;
  if (expected.text !== undefined && text !== '' && text !== expected.text) return `${expected.text} expected`;
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    if (headers[name] !== value) return `${name}: ${value} expected`;
  }
  const isReplayed = headers['idempotent-replayed'];
  if (isReplayed !== (expected.isReplayed ? 'true' : undefined)) return `Idempotent-Replayed must not be ${isReplayed}`;
  if (expected.hasNext !== undefined && expected.hasNext !== (headers.link !== undefined))
    return 'wrong about a next page';
  if (headers.etag !== undefined && expected.etag === undefined) return 'no ETag expected';
  const known = expected.etag && tags.get(expected.etag);
  if (headers.etag === undefined ? expected.needsEtag : known !== undefined && headers.etag !== known)
    return `ETag ${known} expected`;
  if (expected.first?.answer && !isSame(answer, expected.first.answer)) return 'not the same as the first response';
  return expected.check?.(text);
};

const isSame = (one: Answer, other: Answer): boolean =>
  one.status === other.status &&
  one.text === other.text &&
  one.headers.etag === other.headers.etag &&
  one.headers['content-type'] === other.headers['content-type'];
