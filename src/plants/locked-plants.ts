import type { BatchLimits } from '../batching/batch-queue.ts';
import { OverloadedError } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { isLockTimeout } from '../database/database-error.ts';

/** How long a statement may wait for the lock of another transaction, in ms. */
export const LOCK_TIMEOUT = 400;
/** The same for the first attempt of each write of a batch that had to wait: nearly all of them wait for no lock. */
const FIRST_LOCK_TIMEOUT = 10;

type LockedPlantsOptions = {
  limits: BatchLimits;
  lateError: () => Error;
  observe: (queue: ObservedQueue) => QueueObserver | undefined;
};

/** The plant was found locked while the write was waiting to be sent. The code is PostgreSQL's for `lock_timeout`. */
export class PlantLockedError extends Error {
  override name = 'PlantLockedError';
  readonly code = '55P03';
}

type Write<Result> = {
  /** Sends the write through a shared queue, which checks `isLocked` when it is its turn. */
  share: () => Promise<Result>;
  /** Sends it in a statement of its own. `lockTimeout`: in ms */
  send: (lockTimeout: number) => Promise<Result>;
  bytes: number;
  isAbandoned?: (() => boolean) | undefined;
  /** In ms. */
  timeLeft: () => number;
};

/**
 * Keeps the writes of plants that another transaction has locked out of the shared queues, so that other writes do not wait
 * for them: they are tried in a queue of their own until they succeed or are out of time.
 */
export const createLockedPlants = ({ limits, observe, lateError }: LockedPlantsOptions) => {
  const statements = createStatementQueue({ limits, observe, lateError });
  /** The number of writes that wait for each locked plant. */
  const waiting = new Map<bigint, number>();

  const tryUntilUnlocked = async <Result>({ send, bytes, isAbandoned, timeLeft }: Write<Result>): Promise<Result> => {
    for (let lockTimeout = FIRST_LOCK_TIMEOUT; timeLeft() > 2 * LOCK_TIMEOUT; lockTimeout = LOCK_TIMEOUT) {
      try {
        return await statements({ send: () => send(lockTimeout), bytes, isAbandoned, timeout: timeLeft() });
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
    }
    throw new OverloadedError('Another transaction has locked the plant; nothing was changed.');
  };

  return {
    isAnyLocked: (): boolean => waiting.size > 0,
    isLocked: (id: bigint): boolean => waiting.has(id),
    /** @throws {OverloadedError} the plant stayed locked, so nothing was changed; errors of `share` and `send` */
    run: async <Result>(id: bigint, write: Write<Result>): Promise<Result> => {
      if (!waiting.has(id)) {
        try {
          return await write.share();
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
        }
      }
      waiting.set(id, (waiting.get(id) ?? 0) + 1);
      try {
        return await tryUntilUnlocked(write);
      } finally {
        const left = (waiting.get(id) ?? 0) - 1;
        if (left > 0) waiting.set(id, left);
        else waiting.delete(id);
      }
    },
  };
};
