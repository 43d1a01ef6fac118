import type { Answer } from './post-plant.ts';

/** What the clients know about an id. `perhaps`: in progress, or the outcome is unknown. */
export const Knowledge = { neverSent: 0, notStored: 1, stored: 2, perhaps: 3 } as const;

/** Kinds of outcomes: 200; 400 for an id that is taken; 503; any other response; no response. */
const KINDS = ['ok', 'taken', 'unavailable', 'other', 'none'] as const;
type Kind = (typeof KINDS)[number];

const kindOf = ({ status, code }: Answer): Kind => {
  if (status === 200) return 'ok';
  if (status === 503) return 'unavailable';
  if (status === 0) return 'none';
  return code === 1004 ? 'taken' : 'other';
};

/** Records every id that was sent and its outcome, to compare them with the table. */
export const createLedger = () => {
  let known = new Uint8Array(65_536);
  let nextId = 1;
  const counts: Record<Kind, number> = { ok: 0, taken: 0, unavailable: 0, other: 0, none: 0 };
  const longestWaits: Record<Kind, number> = { ok: 0, taken: 0, unavailable: 0, other: 0, none: 0 };
  /** How many 503s had each code. */
  const codes: Record<number, number> = {};
  /** Unexpected outcomes, with an example each. */
  const surprises = new Map<string, { count: number; example: string }>();
  let doubled = 0;
  let repairedAt = Number.POSITIVE_INFINITY;
  let recoveredAt: number | undefined;

  const surprise = (what: string, example: string) =>
    surprises.set(what, { count: (surprises.get(what)?.count ?? 0) + 1, example });

  /** @param before what was known before this request */
  const learn = (id: number, before: number, answer: Answer): number => {
    const kind = kindOf(answer);
    const example = `id ${id}: ${answer.message}`;
    if (kind === 'ok') {
      if (before === Knowledge.stored) doubled++;
      if (performance.now() > repairedAt) recoveredAt ??= performance.now();
      return Knowledge.stored;
    }
    if (kind === 'taken') {
      if (before === Knowledge.notStored) surprise('answered "taken" although never stored', example);
      return Knowledge.stored;
    }
    if (kind === 'unavailable') codes[answer.code] = (codes[answer.code] ?? 0) + 1;
    else surprise(kind === 'none' ? 'no answer' : `answered ${answer.status}`, example);
    const mayBeStored = kind === 'none' || answer.message.includes('outcome is unknown');
    return before === Knowledge.notStored && mayBeStored ? Knowledge.perhaps : before;
  };

  return {
    counts,
    longestWaits,
    codes,
    surprises,
    /** Ids that got 200 more than once. */
    doubled: () => doubled,
    /** The next 200 is the recovery. */
    markRepaired: () => {
      repairedAt = performance.now();
    },
    /** The time from `markRepaired` to the first 200, in ms; undefined before it. */
    recovery: () => (recoveredAt === undefined ? undefined : recoveredAt - repairedAt),
    /** A new id. */
    takeId: () => {
      if (nextId === known.length) known = Buffer.concat([known, new Uint8Array(known.length)]);
      return nextId++;
    },
    /** A random id that got 200, or undefined. */
    someStoredId: () => {
      const id = Math.floor(Math.random() * nextId);
      return known[id] === Knowledge.stored ? id : undefined;
    },
    lastId: () => nextId - 1,
    knownOf: (id: number): number => known[id] ?? Knowledge.neverSent,
    /** Sends an id and records the outcome. @returns the response */
    record: async (id: number, post: (id: number) => Promise<Answer>): Promise<Answer> => {
      const before = known[id] || Knowledge.notStored;
      if (before === Knowledge.notStored) known[id] = Knowledge.perhaps;
      const answer = await post(id);
      known[id] = learn(id, before, answer);
      const kind = kindOf(answer);
      counts[kind]++;
      longestWaits[kind] = Math.max(longestWaits[kind], answer.wait);
      return answer;
    },
  };
};

export type Ledger = ReturnType<typeof createLedger>;
