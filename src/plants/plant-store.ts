import { AsyncResource } from 'node:async_hooks';
import { DatabaseTimeoutError, withinTime } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import { OutcomeUnknownError, OverloadedError, PlantChangedError, PlantUnknownError } from './plant-errors.ts';
import type { PlantPage } from './plant-page.ts';
import type { PageRequest, PlantFilter, PlantRepository } from './plant-repository.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';
import { storeBatch } from './store-batch.ts';

/** Whether a plant is as the client believes it to be. */
export type PlantCondition = (plant: StoredPlant) => boolean;

type PlantStoreOptions = {
  repository: PlantRepository;
  /** Of creating and reading single plants, of pages of all plants, and of what takes a statement for itself. */
  limits: Record<'writes' | 'reads' | 'pages' | 'statements', BatchLimits>;
  /** For who wants to look on; told the queue's name. */
  observeQueue?: (name: 'writes' | 'reads' | 'pages', queue: ObservedQueue) => QueueObserver | undefined;
};

/** Of a plant in the JSON of a page, about; in bytes. */
const PLANT_BYTES = 100;

/** The store's operations: how requests come together, and what a plant must be like to be changed. */
export const createPlantStore = ({ repository, limits, observeQueue }: PlantStoreOptions) => {
  const writes = createBatchQueue({
    run: (plants: NewPlant[]) => storeBatch(plants, repository.insert),
    bytesOf: ({ name, tag }) => 2 * (name.length + (tag?.length ?? 0)),
    lateError: () => new OutcomeUnknownError('The database did not answer in time.'),
    observe: (queue) => observeQueue?.('writes', queue),
    limits: limits.writes,
  });
  const reads = createBatchQueue({
    run: async (ids: bigint[]) => {
      const found = await repository.findByIds(ids);
      return ids.map((id) => found.get(id) ?? new PlantUnknownError(id));
    },
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError('The database did not answer in time.'),
    observe: (queue) => observeQueue?.('reads', queue),
    limits: limits.reads,
  });
  const pages = createBatchQueue({
    run: repository.list,
    // Guessed, so that a statement has about as many plants, however long its pages are: it has the time of one.
    bytesOf: ({ limit }: PageRequest) => limit * PLANT_BYTES,
    lateError: () => new DatabaseTimeoutError('The database did not answer in time.'),
    observe: (queue) => observeQueue?.('pages', queue),
    limits: limits.pages,
  });

  const statements = createBatchQueue({
    run: async ([send]: (() => Promise<unknown>)[]) => [await send?.()],
    bytesOf: () => 0,
    lateError: () => new OutcomeUnknownError('The database did not answer in time.'),
    limits: limits.statements,
  });
  /** Sends a statement in its turn, for the request that it belongs to. */
  const inTurn = <Result>(send: () => Promise<Result>, isAbandoned?: () => boolean) =>
    statements.add(AsyncResource.bind(send), isAbandoned) as Promise<Result>;

  /** @throws {PlantUnknownError} {OverloadedError} what PostgreSQL threw */
  const find = (id: bigint, isAbandoned?: () => boolean): Promise<StoredPlant> => reads.add(id, isAbandoned);

  /** Writes to the plant that meets the condition, and to no other that it became in the meantime. */
  const writeIf = async <Result>(
    id: bigint,
    condition: PlantCondition | undefined,
    write: (expected?: StoredPlant) => Promise<Result | undefined>,
  ): Promise<Result> => {
    const deadline = performance.now() + limits.writes.deadline;
    while (performance.now() < deadline) {
      const expected = condition && (await find(id));
      if (expected && !condition(expected)) throw new PlantChangedError(id);
      const result = await inTurn(() => write(expected));
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
    find,
    /** @throws {OverloadedError} what PostgreSQL threw */
    list: async (
      { tag, nameContains, ...page }: PageRequest & PlantFilter,
      isAbandoned?: () => boolean,
    ): Promise<PlantPage> => {
      const deadline = performance.now() + limits.pages.deadline;
      const isSearch = tag !== undefined || nameContains !== undefined;
      const shared = isSearch ? undefined : await pages.add(page, isAbandoned);
      if (shared) return shared;
      const timeLeft = () => deadline - performance.now();
      const isGone = () => timeLeft() < 0 || isAbandoned?.() === true;
      return withinTime(
        inTurn(() => repository.search({ ...page, tag, nameContains }), isGone),
        timeLeft(),
      );
    },
    /**
     * @returns the plant as it is now
     * @throws {PlantUnknownError} {PlantChangedError}
     */
    update: (id: bigint, change: PlantChange, condition?: PlantCondition): Promise<StoredPlant> =>
      writeIf(id, condition, (expected) => repository.update(id, change, expected)),
    /** @throws {PlantUnknownError} {PlantChangedError} */
    delete: async (id: bigint, condition?: PlantCondition): Promise<void> => {
      await writeIf(id, condition, async (expected) => (await repository.delete(id, expected)) || undefined);
    },
  };
};

export type PlantStore = ReturnType<typeof createPlantStore>;
