import type { Answer } from './post-plant.ts';

/** What the clients know about an id. `perhaps`: under way, or answered with a 503 that says so, or not answered at all. */
export const Knowledge = { neverSent: 0, notStored: 1, stored: 2, perhaps: 3 } as const;

/** Answers by what they mean: 200; 400 for an id that is taken; 503; any other; and none. */
const KINDS = ['ok', 'taken', 'unavailable', 'other', 'none'] as const;
type Kind = (typeof KINDS)[number];

const kindOf = ({ status, code }: Answer): Kind => {
  if (status === 200) return 'ok';
  if (status === 503) return 'unavailable';
  if (status === 0) return 'none';
  return code === 1004 ? 'taken' : 'other';
};

/** Remembers every id that was sent and what came of it, to hold it against the table. */
export const createLedger = () => {
  let known = new Uint8Array(65_536);
  let nextId = 1;
  const counts: Record<Kind, number> = { ok: 0, taken: 0, unavailable: 0, other: 0, none: 0 };
  const longestWaits: Record<Kind, number> = { ok: 0, taken: 0, unavailable: 0, other: 0, none: 0 };
  /** How often each code came with a 503. */
  const codes: Record<number, number> = {};
  /** What should not have been, with an example of each. */
  const surprises = new Map<string, { count: number; example: string }>();
  let doubled = 0;
  let mendedAt = Number.POSITIVE_INFINITY;
  let recoveredAt: number | undefined;

  const surprise = (what: string, example: string) =>
    surprises.set(what, { count: (surprises.get(what)?.count ?? 0) + 1, example });

  /** @param before what was known before this attempt */
  const learn = (id: number, before: number, answer: Answer): number => {
    const kind = kindOf(answer);
    const example = `id ${id}: ${answer.message}`;
    if (kind === 'ok') {
      if (before === Knowledge.stored) doubled++;
      if (performance.now() > mendedAt) recoveredAt ??= performance.now();
      return Knowledge.stored;
    }
    if (kind === 'taken') {
      if (before === Knowledge.notStored) surprise('answered "taken" and never stored', example);
      return Knowledge.stored;
    }
    if (kind === 'unavailable') codes[answer.code] = (codes[answer.code] ?? 0) + 1;
    else surprise(kind === 'none' ? 'no answer' : `answered ${answer.status}`, example);
    const mayBeStored = kind === 'none' || answer.message.includes('may be done');
    return before === Knowledge.notStored && mayBeStored ? Knowledge.perhaps : before;
  };

  return {
    counts,
    longestWaits,
    codes,
    surprises,
    /** Ids that were answered with 200 more than once. */
    doubled: () => doubled,
    /** From now on, the first 200 is the recovery. */
    markMended: () => {
      mendedAt = performance.now();
    },
    /** In ms from `markMended` to the first 200, or undefined where there was none yet. */
    recovery: () => (recoveredAt === undefined ? undefined : recoveredAt - mendedAt),
    /** An id that was never sent before. */
    takeId: () => {
      if (nextId === known.length) known = Buffer.concat([known, new Uint8Array(known.length)]);
      return nextId++;
    },
    /** Some id that was answered with 200, or undefined. */
    someStoredId: () => {
      const id = Math.floor(Math.random() * nextId);
      return known[id] === Knowledge.stored ? id : undefined;
    },
    lastId: () => nextId - 1,
    knownOf: (id: number): number => known[id] ?? Knowledge.neverSent,
    /** Sends an id and notes what comes of it. @returns the answer */
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
