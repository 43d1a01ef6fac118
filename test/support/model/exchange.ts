import type { TestDatabase } from '../test-database.ts';
import type { Call, State } from './call.ts';
import type { Clock } from './clock.ts';
import { describeFailure } from './describe-failure.ts';
import type { EntityTags } from './entity-tags.ts';
import { explain } from './explain.ts';
import { errorOf, type HttpClient } from './http-client.ts';
import type { Sent } from './operations.ts';
import type { Plant } from './requests.ts';
import { readTable, waitUntilIdle } from './tables.ts';
import { repeatCall } from './to-call.ts';
import type { Tokens, Verdict } from './tokens.ts';

export type ModelStore = {
  database: TestDatabase;
  client: HttpClient;
  clock: Clock;
  /** Counts an outcome. */
  count: (outcome: string) => void;
  /** Requests whose clients have left, also in earlier sequences, and for how many exchanges they may still be carried out. */
  left: Map<Call, number>;
};

export type Planned = { call: Call; leave: Sent['leave'] };

/** If a request needs a new connection to PostgreSQL, it can be carried out long after its client has left. */
const MAX_DELAY = 12;

type ExchangeOptions = {
  store: ModelStore;
  tokens: Tokens;
  tags: EntityTags;
  /** What the store contains at first. */
  plants: Readonly<Record<string, Plant>>;
};

/** Sends requests, and follows in which states the store may be. */
export const createExchange = ({ store, tokens, tags, plants }: ExchangeOptions) => {
  const { database, client, count, left } = store;
  let states: State[] = [{ plants: new Map(Object.entries(plants)), kept: new Map(), left: [...left.keys()] }];

  /** @returns what the model must explain */
  const send = async ({ call, leave }: Planned, verdictOf: () => Verdict): Promise<Call[]> => {
    if (leave === undefined) return [await answered(call, verdictOf)];
    const mayCount = leave !== 'before the end';
    if (mayCount) left.set(call, MAX_DELAY);
    // A client that sees no response sends the request again, while the first one may be under way.
    const repeat = async () =>
      call.fingerprint === undefined ? [] : [await answered(repeatCall(call, call.instance, false), verdictOf)];
    const again = await client.leave(call.instance, call.http, leave, repeat);
    count('left');
    call.verdict = verdictOf() === 'refused' ? 'refused' : 'either';
    return mayCount ? [call, ...again] : again;
  };

  const answered = async (call: Call, verdictOf: () => Verdict): Promise<Call> => {
    call.answer = await client.send(call.instance, call.http);
    call.verdict = verdictOf();
    count(`${call.request.kind} ${call.answer.status} ${errorOf(call.answer) ?? ''}`.trim());
    if (call.answer.headers['idempotent-replayed']) count('replayed');
    return call;
  };

  return {
    /** The plants are the same in all states in which the store may be. */
    state: () => states[0] as State,

    /**
     * Sends requests at once.
     * @throws {Error} the model does not explain the answers or the table
     */
    exchange: async (planned: readonly Planned[]): Promise<void> => {
      forgetOld(left);
      const before = states.map((state) => ({ ...state, left: state.left.filter((call) => left.has(call)) }));
      const verdicts: (() => Verdict)[] = [];
      for (const { call } of planned) verdicts.push(await tokens.use(call.token, call.instance));
      const sent = planned.map((plan, index) => send(plan, verdicts[index] as () => Verdict));
      const calls = (await Promise.all(sent)).flat();
      if (planned.some(({ leave }) => leave !== undefined)) await waitUntilIdle(database);
      const table = await readTable(database);
      const wrongTags = calls.flatMap((call) => tags.learn(call) ?? []);
      states = explain({ states: before, calls, table, tags });
      if (states.length === 0 || wrongTags.length > 0) {
        throw new Error(describeFailure({ states: before, calls, table, tags, wrongTags }));
      }
    },

    /** All answers that were kept have expired. */
    forgetKeys: (): void => {
      states = states.map((state) => ({ ...state, kept: new Map() }));
    },
  };
};

const forgetOld = (left: Map<Call, number>) => {
  for (const [call, exchanges] of left) {
    if (exchanges > 0) left.set(call, exchanges - 1);
    else left.delete(call);
  }
};
