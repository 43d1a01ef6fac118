import { setTimeout } from 'node:timers/promises';
import { type BatchLimits, OverloadedError } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { isLockTimeout } from '../database/database-error.ts';

/** How long an attempt may wait for a lock, in ms. Of the writes that shared a statement, nearly all find theirs free. */
const ATTEMPT_LOCK_TIMEOUT = 10;
/** The pause after an attempt, in ms. */
const PAUSE = 100;

type LockedPlantsOptions = {
  limits: BatchLimits;
  lateError: () => Error;
  observe: (queue: ObservedQueue) => QueueObserver | undefined;
};

type Write<Result> = {
  /** Sends the write through a shared queue, which checks `isLocked` when it is its turn. */
  share: () => Promise<Result>;
  /** Sends the write in a statement of its own. `lockTimeout`: in ms */
  send: (lockTimeout: number) => Promise<Result>;
  bytes: number;
  isAbandoned?: (() => boolean) | undefined;
  /** In ms. */
  timeLeft: () => number;
};

/**
 * Keeps the writes of plants that another transaction has locked out of the shared queues, so that other writes do not wait
 * for them. They are retried in a queue of their own until they succeed or time out.
 */
export const createLockedPlants = ({ limits, observe, lateError }: LockedPlantsOptions) => {
  // Separate queues, so that writes that wait for a lock do not delay writes that only shared a statement with one.
  const firstAttempts = createStatementQueue({ limits, observe, lateError });
  const nextAttempts = createStatementQueue({ limits: { ...limits, batches: 1 }, lateError });
  /** The number of writes that wait for each locked plant. */
  const waiting = new Map<bigint, number>();

  const tryUntilUnlocked = async <Result>({ send, bytes, isAbandoned, timeLeft }: Write<Result>): Promise<Result> => {
    // On Citus, as long as the `lock_timeout` of the role.
    let lastAttempt = 0;
    const attempt = async () => {
      const before = timeLeft();
      try {
        return await send(ATTEMPT_LOCK_TIMEOUT);
      } finally {
        lastAttempt = before - timeLeft();
      }
    };
    // An attempt in progress at the deadline would leave the outcome unknown.
    for (let attempts = firstAttempts; timeLeft() > PAUSE + lastAttempt; attempts = nextAttempts) {
      try {
        return await attempts({ send: attempt, bytes, isAbandoned, timeout: timeLeft() });
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
      await setTimeout(PAUSE);
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

export type LockedPlants = ReturnType<typeof createLockedPlants>;
