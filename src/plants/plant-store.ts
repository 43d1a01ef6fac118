import { isStatementTimeout } from '../database/database-error.ts';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import {
  OutcomeUnknownError,
  OverloadedError,
  PlantChangedError,
  PlantUnknownError,
  SearchTimeoutError,
} from './plant-errors.ts';
import type { PlantPage } from './plant-page.ts';
import { createPlantReader } from './plant-reader.ts';
import type { PageRequest, PlantFilter, PlantRepository } from './plant-repository.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';
import { createStatementQueue } from './statement-queue.ts';
import { storeBatch } from './store-batch.ts';

/** Whether a plant is as the client believes it to be. */
export type PlantCondition = (plant: StoredPlant) => boolean;

/**
 * Requests that create plants, read plants, or read pages of all plants share statements. What is too long to share one,
 * searches, and changes have a statement each. A queue leaves connections to the others; see request-limits.ts.
 */
type QueueName = 'writes' | 'reads' | 'pages' | 'longReads' | 'searches' | 'changes';

type PlantStoreOptions = {
  repository: PlantRepository;
  limits: Record<QueueName, BatchLimits>;
  observeQueue?: (name: QueueName, queue: ObservedQueue) => QueueObserver | undefined;
};

/** A plant in the JSON of a page, in bytes, about. */
const PLANT_BYTES = 100;

const LATE = 'The database did not answer in time.';
const lateRead = () => new DatabaseTimeoutError(LATE);
const lateWrite = () => new OutcomeUnknownError(LATE);

/** The store's operations: how requests come together, and what a plant must be like to be changed. */
export const createPlantStore = ({ repository, limits, observeQueue }: PlantStoreOptions) => {
  const settingsOf = (name: QueueName, lateError: () => Error) => ({
    lateError,
    observe: (queue: ObservedQueue) => observeQueue?.(name, queue),
    limits: limits[name],
  });
  const writes = createBatchQueue({
    ...settingsOf('writes', lateWrite),
    run: (plants: NewPlant[]) => storeBatch(plants, repository.insert),
    bytesOf: ({ name, tag }) => textBytes(name) + textBytes(tag),
  });
  const pages = createBatchQueue({
    ...settingsOf('pages', lateRead),
    run: repository.list,
    bytesOf: () => 0,
    // Guessed, so that a statement has about as many plants, however long its pages are: it has the time of one.
    answerBytesOf: ({ limit }: PageRequest) => limit * PLANT_BYTES,
  });
  const longReads = createStatementQueue(settingsOf('longReads', lateRead));
  const searches = createStatementQueue(settingsOf('searches', () => new SearchTimeoutError(LATE)));
  const changes = createStatementQueue(settingsOf('changes', lateWrite));
  const find = createPlantReader({ ...settingsOf('reads', lateRead), repository, longReads });

  const search = async (request: PageRequest & PlantFilter): Promise<PlantPage> => {
    try {
      return await repository.search(request);
    } catch (error) {
      throw isStatementTimeout(error) ? new SearchTimeoutError(LATE, { cause: error }) : error;
    }
  };

  /** Writes to the plant that meets the condition, and to no other that it became in the meantime. */
  const writeIf = async <Result>(
    id: bigint,
    condition: PlantCondition | undefined,
    bytes: number,
    write: (expected?: StoredPlant) => Promise<Result | undefined>,
  ): Promise<Result> => {
    const timeLeft = timer(limits.changes.deadline);
    while (timeLeft() > 0) {
      const expected = condition && (await find(id, undefined, timeLeft()));
      if (expected && !condition(expected)) throw new PlantChangedError(id);
      const result = await changes({
        send: () => write(expected),
        bytes: bytes + textBytes(expected?.name) + textBytes(expected?.tag),
        timeout: timeLeft(),
      });
      if (result !== undefined) return result;
      // Without a condition there is no such plant; with one, it changed since it was found.
      if (!expected) throw new PlantUnknownError(id);
    }
    throw new OverloadedError('Others changed the plant again and again.');
  };

  return {
    /**
     * Stores a plant; it is on disk when the promise is fulfilled. One that `isAbandoned` is dropped, if it has not left.
     * @throws {PlantIdTakenError} {OverloadedError} {OutcomeUnknownError} what PostgreSQL threw
     */
    create: (plant: NewPlant, isAbandoned: () => boolean): Promise<void> => writes.add(plant, isAbandoned),
    /** @throws {PlantUnknownError} {OverloadedError} what PostgreSQL threw */
    find: (id: bigint, isAbandoned?: () => boolean): Promise<StoredPlant> => find(id, isAbandoned),
    /** @throws {OverloadedError} {SearchTimeoutError} what PostgreSQL threw */
    list: async (request: PageRequest & PlantFilter, isAbandoned?: () => boolean): Promise<PlantPage> => {
      const { tag, nameContains, ...page } = request;
      if (tag !== undefined || nameContains !== undefined) {
        const bytes = textBytes(tag) + textBytes(nameContains);
        const timeout = limits.searches.deadline;
        return searches({ send: () => search(request), bytes, timeout, isAbandoned });
      }
      const timeLeft = timer(limits.pages.deadline);
      const shared = await pages.add(page, isAbandoned);
      if (shared) return shared;
      return longReads({ send: () => repository.search(page), bytes: 0, timeout: timeLeft(), isAbandoned });
    },
    /**
     * @returns the plant as it is now
     * @throws {PlantUnknownError} {PlantChangedError} {OverloadedError} {OutcomeUnknownError} what PostgreSQL threw
     */
    update: (id: bigint, change: PlantChange, condition?: PlantCondition): Promise<StoredPlant> =>
      writeIf(id, condition, textBytes(change.name) + textBytes(change.tag), (expected) =>
        repository.update(id, change, expected),
      ),
    /** @throws as `update` */
    delete: async (id: bigint, condition?: PlantCondition): Promise<void> => {
      await writeIf(id, condition, 0, async (expected) => (await repository.delete(id, expected)) || undefined);
    },
  };
};

export type PlantStore = ReturnType<typeof createPlantStore>;

/** In memory, at most. */
const textBytes = (text: string | null | undefined) => 2 * (text?.length ?? 0);

/** @returns a function that tells how many of so many ms are left */
const timer = (milliseconds: number) => {
  const deadline = performance.now() + milliseconds;
  return () => deadline - performance.now();
};
