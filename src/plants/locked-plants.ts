import { setTimeout } from 'node:timers/promises';
import type { BatchLimits } from '../batching/batch-queue.ts';
import type { Statement, StatementQueue } from '../batching/queues.ts';
import { isLockTimeout, isStatementTimeout } from '../database/database-error.ts';
import { StoreError } from '../errors.ts';

/** The pause before the next attempt, in ms. */
const PAUSE = 100;

type LockedPlantsOptions = {
  /** For attempts. */
  send: StatementQueue;
  /** Of the writes that wait, in number; their bytes are those of requests. */
  limits: Pick<BatchLimits, 'batches' | 'queueItems'>;
  /** How long an attempt may take, in ms. One in progress at the deadline would leave the outcome unknown. */
  timeNeeded: number;
};

type Write<Result> = Omit<Statement<Result>, 'timeout'> & {
  /** In ms. */
  timeLeft: () => number;
};

/**
 * Keeps the writes of plants that another transaction has locked out of the shared queues, so that other writes do not wait
 * for them. They are tried again, one after another for each plant, until they succeed or time out.
 */
export const createLockedPlants = ({ send, limits, timeNeeded }: LockedPlantsOptions) => {
  /** `last`: resolves when the last of the writes has its outcome. */
  const plants = new Map<bigint, { writes: number; last: Promise<unknown> }>();
  let writes = 0;

  const areMany = () => plants.size > limits.batches;
  /** PostgreSQL takes a lock timeout that comes as the wait ends for a request to cancel the statement. */
  const isLocked = (error: unknown) => isLockTimeout(error) || (areMany() && isStatementTimeout(error));

  const tryUntilUnlocked = async <Result>({ timeLeft, ...write }: Write<Result>): Promise<Result> => {
    const attempt = async () => {
      if (timeLeft() <= timeNeeded) throw stillLocked();
      return write.send();
    };
    for (;;) {
      try {
        return await send({ ...write, send: attempt, timeout: timeLeft() });
      } catch (error) {
        if (!isLocked(error)) throw error;
      }
      if (timeLeft() <= timeNeeded + PAUSE) throw stillLocked();
      await setTimeout(PAUSE);
    }
  };

  return {
    /** The number of locked plants that writes wait for. */
    count: (): number => plants.size,
    has: (id: bigint): boolean => plants.has(id),
    /**
     * How long an attempt may wait for a lock, in ms, while writes wait for more plants than can be tried at once: writes of other
     * plants wait behind a first attempt. Undefined: as long as usual.
     */
    maxWait: (attempt: 'first' | 'next'): number | undefined => {
      if (!areMany()) return undefined;
      return attempt === 'first' ? 2 : 50;
    },
    /** The error of a write that must not be sent with others, because its plant is locked: with the code of `lock_timeout`. */
    refuse: ({ id }: { id: bigint }): Error | undefined =>
      plants.has(id) ? Object.assign(new Error('The plant is locked.'), { code: '55P03' }) : undefined,
    /**
     * Waits for the first attempt to write a plant, and tries again while it is locked.
     * @param first undefined if it is known to be locked
     * @throws {StoreError} 1500 the plant stayed locked, so nothing was changed; errors of both attempts
     */
    retry: async <Result>(id: bigint, first: Promise<Result> | undefined, write: Write<Result>): Promise<Result> => {
      try {
        if (first) return await first;
      } catch (error) {
        if (!isLocked(error)) throw error;
      }
      if (writes >= limits.queueItems) throw tooManyWait();
      const plant = plants.get(id) ?? { writes: 0, last: Promise.resolve() };
      plants.set(id, plant);
      plant.writes++;
      writes++;
      const outcome = plant.last.then(() => tryUntilUnlocked(write));
      plant.last = outcome.catch(() => {});
      try {
        return await outcome;
      } finally {
        writes--;
        if (--plant.writes === 0) plants.delete(id);
      }
    },
  };
};

const stillLocked = () =>
  new StoreError('overloaded', 'Another transaction has locked the plant; nothing was changed. Try again later.');

const tooManyWait = () =>
  new StoreError(
    'overloaded',
    'Too many requests are waiting for locked plants; nothing was changed. Try again later.',
  );
