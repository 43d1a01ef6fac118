import { DatabaseTimeoutError } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { ObservedQueue } from './queue-observer.ts';

type LookUpOptions = {
  limits: BatchLimits;
  /** Called with the queue. */
  watch?: ((queue: ObservedQueue) => void) | undefined;
};

/**
 * Batches look-ups of a few bytes: concurrent ones share a statement.
 * @param run returns the results in the order of its items
 * @returns a function that looks one item up
 * @throws {overloaded} or any error of `run`
 */
export const createLookUpQueue = <Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { limits, watch }: LookUpOptions,
) => {
  const queue = createBatchQueue<Item, Result>({
    run,
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError(),
    observe: (lookUps) => {
      watch?.(lookUps);
      return undefined;
    },
    limits,
  });
  return (item: Item): Promise<Result> => queue.add(item);
};
