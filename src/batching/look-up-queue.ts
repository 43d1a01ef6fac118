import { AsyncResource } from 'node:async_hooks';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';

type LookUp<Item, Result> = (items: Item[]) => Promise<Result[]>;

/**
 * Batches look-ups of a few bytes: concurrent ones share a statement, in the trace of the first request that waits for it.
 * @returns a function that looks one item up
 * @throws {OverloadedError} or any error of `run`, which returns the results in the order of its items
 */
export const createLookUpQueue = <Item, Result>(run: LookUp<Item, Result>, limits: BatchLimits) => {
  const queue = createBatchQueue({
    run: async (lookUps: { item: Item; run: LookUp<Item, Result> }[]) =>
      (await lookUps[0]?.run(lookUps.map(({ item }) => item))) ?? [],
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError(),
    limits,
  });
  return (item: Item): Promise<Result> => queue.add({ item, run: AsyncResource.bind(run) });
};
