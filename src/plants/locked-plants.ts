import { setTimeout } from 'node:timers/promises';
import type { BatchLimits } from '../batching/batch-queue.ts';
import { OverloadedError } from '../batching/overloaded-error.ts';
import { createStatementQueue, type Statement, type StatementQueue } from '../batching/statement-queue.ts';
import { isLockTimeout } from '../database/database-error.ts';

/** The pause before the next attempt, in ms. */
const PAUSE = 100;

type LockedPlantsOptions = {
  /** For attempts. */
  send: StatementQueue;
  /** Of the writes that wait, in number and in bytes: those of one plant take at most half. */
  limits: BatchLimits;
  /** How long an attempt may wait for the lock, in ms. */
  lockTimeout: number;
  lateError: () => Error;
};

type Write<Result> = Omit<Statement<Result>, 'timeout'> & {
  /** In ms. */
  timeLeft: () => number;
};

/**
 * Keeps the writes of plants that another transaction has locked out of the shared queues, so that other writes do not wait
 * for them. They are tried again, one after another for each plant, until they succeed or time out.
 */
export const createLockedPlants = ({ send, limits, lockTimeout, lateError }: LockedPlantsOptions) => {
  const plants = new Map<bigint, { writes: number; queue: StatementQueue }>();
  let [writes, bytes] = [0, 0];

  const createQueue = () => {
    const { queueItems, queueBytes } = limits;
    const half = { queueItems: Math.ceil(queueItems / 2), queueBytes: queueBytes / 2 };
    return createStatementQueue({ limits: { ...limits, ...half, batches: 1 }, lateError });
  };

  const tryUntilUnlocked = async <Result>({ timeLeft, ...write }: Write<Result>): Promise<Result> => {
    // An attempt in progress at the deadline would leave the outcome unknown.
    const attempt = async () => {
      if (timeLeft() <= lockTimeout) throw stillLocked();
      return write.send();
    };
    for (;;) {
      try {
        return await send({ ...write, send: attempt, timeout: timeLeft() });
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
      if (timeLeft() <= lockTimeout + PAUSE) throw stillLocked();
      await setTimeout(PAUSE);
    }
  };

  return {
    /** The number of locked plants that writes wait for. */
    count: (): number => plants.size,
    has: (id: bigint): boolean => plants.has(id),
    /**
     * Waits for the first attempt to write a plant, and tries again while it is locked.
     * @param first undefined if it is known to be locked
     * @throws {OverloadedError} the plant stayed locked, so nothing was changed; errors of both attempts
     */
    retry: async <Result>(id: bigint, first: Promise<Result> | undefined, write: Write<Result>): Promise<Result> => {
      try {
        if (first) return await first;
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
      if (writes >= limits.queueItems || bytes + write.bytes > limits.queueBytes)
        throw new OverloadedError('Too many requests are waiting for locked plants; nothing was changed.');
      const plant = plants.get(id) ?? { writes: 0, queue: createQueue() };
      plants.set(id, plant);
      plant.writes++;
      writes++;
      bytes += write.bytes;
      try {
        return await plant.queue({ ...write, send: () => tryUntilUnlocked(write), timeout: write.timeLeft() });
      } finally {
        writes--;
        bytes -= write.bytes;
        if (--plant.writes === 0) plants.delete(id);
      }
    },
  };
};

const stillLocked = () => new OverloadedError('Another transaction has locked the plant; nothing was changed.');
