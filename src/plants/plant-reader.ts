import { setImmediate } from 'node:timers/promises';
import { type BatchLimits, createBatchQueue } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import type { StatementQueue } from '../batching/statement-queue.ts';
import { startTimer } from '../database/within-time.ts';
import type { StoredPlant } from './plant.ts';
import { PlantUnknownError } from './plant-errors.ts';
import type { PlantRepository } from './plant-repository.ts';

type PlantReaderOptions = {
  repository: Pick<PlantRepository, 'findByIds' | 'findLong'>;
  limits: BatchLimits;
  lateError: () => Error;
  /** For plants that are too long to share a statement. */
  longReads: StatementQueue;
  observe?: ((queue: ObservedQueue) => QueueObserver | undefined) | undefined;
};

type Reader = { isAbandoned: () => boolean; timeout: number };

/** @returns a function that finds a plant by its id */
export const createPlantReader = ({ repository, limits, lateError, longReads, observe }: PlantReaderOptions) => {
  /** Requests for the same long plant in one batch share one read. */
  const shareLong = (id: bigint) => {
    const readers: Reader[] = [];
    let row: Promise<StoredPlant | undefined> | undefined;
    return (reader: Reader) => {
      readers.push(reader);
      // Starts once all requests of the batch are known: the one with the most time left determines the timeout.
      row ??= setImmediate().then(() =>
        longReads({
          send: () => repository.findLong(id),
          bytes: 0,
          timeout: Math.max(...readers.map(({ timeout }) => timeout)),
          isAbandoned: () => readers.every(({ isAbandoned }) => isAbandoned()),
        }),
      );
      return row;
    };
  };

  const reads = createBatchQueue({
    run: async (ids: bigint[]) => {
      const found = await repository.findByIds([...new Set(ids)]);
      const long = new Map<bigint, ReturnType<typeof shareLong>>();
      for (const [id, plant] of found) if (plant === undefined) long.set(id, shareLong(id));
      return ids.map((id) => found.get(id) ?? long.get(id) ?? new PlantUnknownError(id));
    },
    bytesOf: () => 0,
    lateError,
    observe,
    limits,
  });

  /**
   * @param timeout for all statements together, in ms
   * @throws {PlantUnknownError} {OverloadedError} or any database error
   */
  return async (id: bigint, isAbandoned = () => false, timeout = limits.deadline): Promise<StoredPlant> => {
    const timeLeft = startTimer(timeout);
    const found = await reads.add(id, isAbandoned, timeout);
    if (typeof found !== 'function') return found;
    const plant = await found({ isAbandoned, timeout: timeLeft() });
    if (plant === undefined) throw new PlantUnknownError(id);
    return plant;
  };
};

export type PlantReader = ReturnType<typeof createPlantReader>;
