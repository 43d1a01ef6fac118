import type { Call } from './call.ts';
import { createEntityTags } from './entity-tags.ts';
import { createExchange, type ModelStore, type Planned } from './exchange.ts';
import type { Again, Operation, Sent } from './operations.ts';
import { type Filter, idOf, type Plant } from './requests.ts';
import { expireKeys, fillTables } from './tables.ts';
import { repeatCall, toCall } from './to-call.ts';
import { createTokens, REVOCATION_DELAY } from './tokens.ts';

/**
 * Carries out one sequence on a store that contains `plants`.
 * @throws {Error} at the first answer or row that the model does not explain
 */
export const runSequence = async (
  store: ModelStore,
  plants: Readonly<Record<string, Plant>>,
  operations: readonly Operation[],
): Promise<void> => {
  await fillTables(store.database, plants);
  const carryOut = await createInterpreter(store, plants);
  for (const [index, operation] of operations.entries()) {
    await carryOut(operation).catch((error) => {
      throw new Error(`In operation ${index + 1}: ${error.message}`, { cause: error });
    });
  }
  // In the end, every answer that was kept is still there, and each instance shows all plants.
  await carryOut('repeat what is kept');
  for (const instance of [0, 1] as const) {
    await carryOut({ send: [{ instance, token: 'full', request: { kind: 'list', filter: {} } }] });
  }
};

/** @returns a function that carries out operations, one after another */
const createInterpreter = async (store: ModelStore, plants: Readonly<Record<string, Plant>>) => {
  const { database, clock, count } = store;
  const tokens = await createTokens(database, clock);
  const tags = createEntityTags();
  const { exchange, state, forgetKeys } = createExchange({ store, tokens, tags, plants });
  /** Requests with a key, the latest first. */
  const keyed: Call[] = [];

  const toOwnCall = (sent: Sent) => toCall(sent, { state: state(), tags, tokens });
  const sendAlone = async (call: Call) => {
    await exchange([{ call, leave: undefined }]);
    return call.answer;
  };

  /** A precondition with the current entity tag needs to know it. */
  const readTag = async ({ request, precondition, instance }: Sent) => {
    const id = idOf(request);
    if (id === undefined || !precondition?.tags.some((tag) => tag === 'current' || tag === 'weak')) return;
    await sendAlone(toOwnCall({ instance, token: 'full', request: { kind: 'read', id, isHead: false } }));
  };

  const plan = (part: Sent | Again): Planned[] => {
    if ('again' in part) {
      const first = keyed[part.again % (keyed.length || 1)];
      return first ? [{ call: repeatCall(first, part.instance, part.isSpelledDifferently), leave: part.leave }] : [];
    }
    const call = toOwnCall(part);
    if (call.fingerprint !== undefined) keyed.unshift(call);
    return [{ call, leave: part.leave }];
  };

  const send = async (parts: readonly (Sent | Again)[]) => {
    for (const part of parts) if (!('again' in part)) await readTag(part);
    if (parts.length > 1) count('several at once');
    await exchange(parts.flatMap(plan));
  };

  const walk = async ({ limit, filter }: { limit: number; filter: Filter }) => {
    let instance: 0 | 1 = 0;
    let next: { after?: string; url?: string } | undefined = {};
    while (next !== undefined) {
      const answer = await sendAlone(
        toOwnCall({ instance, token: 'full', request: { kind: 'list', limit, filter, ...next } }),
      );
      next = nextPage(answer?.headers.link, answer?.text ?? '');
      if (next !== undefined) count('a page after another');
      instance = instance === 0 ? 1 : 0;
    }
  };

  const revoke = async ({ fiveSecondsPass, instance }: { fiveSecondsPass: boolean; instance: 0 | 1 }) => {
    const use = () => sendAlone(toOwnCall({ instance, token: 'mortal', request: { kind: 'list', filter: {} } }));
    await use();
    await tokens.revoke();
    if (fiveSecondsPass) clock.advance(REVOCATION_DELAY);
    await use();
  };

  const repeatKept = async () => {
    for (const instance of [0, 1] as const) {
      for (const { first } of state().kept.values()) {
        const call = repeatCall(first, instance, false);
        // Its client may have left in an earlier sequence, whose tokens are gone.
        call.http.headers.Authorization = `Bearer ${tokens.textOf(first.token)}`;
        await sendAlone(call);
      }
    }
  };

  return async (operation: Operation | 'repeat what is kept'): Promise<void> => {
    if (operation === 'repeat what is kept') return repeatKept();
    if ('send' in operation) return send(operation.send);
    if ('walk' in operation) return walk(operation.walk);
    if ('wait' in operation) return tokens.waitForExpiry();
    if ('revoke' in operation) return revoke(operation.revoke);
    await expireKeys(database);
    forgetKeys();
  };
};

/** The URL of the next page, and the last id of this one. */
const nextPage = (link: string | string[] | undefined, page: string) => {
  const target = /^<([^>]*)>; rel="next"$/.exec(String(link))?.[1];
  if (target === undefined) return undefined;
  const { pathname, search } = new URL(target, 'http://store/plants');
  const ids: string[] = [];
  JSON.parse(page, ((key: string, _value: unknown, { source }: { source: string }) => {
    if (key === 'id') ids.push(source);
  }) as (key: string, value: unknown) => unknown);
  return { url: `${pathname}${search}`, after: `${ids.at(-1)}` };
};
