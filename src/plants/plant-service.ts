import { type BatchLimits, createBatchQueue, OverloadedError } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { isStatementTimeout, OutcomeUnknownError, toWriteError } from '../database/database-error.ts';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import { createLockedPlants } from './locked-plants.ts';
import type { NewPlant, PlantChange, StoredPlant } from './plant.ts';
import { PlantChangedError, PlantLockedError, PlantUnknownError, SearchTimeoutError } from './plant-errors.ts';
import type { PageRequest, PlantFilter, PlantPage } from './plant-pages.ts';
import { createPlantReader } from './plant-reader.ts';
import type { PlantRepository } from './plant-repository.ts';

/** Whether a stored plant meets the preconditions of a request. */
export type PlantCondition = (plant: StoredPlant) => boolean;

/**
 * Writes, reads and pages of all plants are batched: several requests share a statement. Long reads, searches and
 * changes have a statement each. Each queue uses only its share of the connections; see request-limits.ts.
 */
type QueueName = 'writes' | 'reads' | 'pages' | 'longReads' | 'searches' | 'changes' | 'lockedPlants';

type PlantServiceOptions = {
  repository: PlantRepository;
  limits: Record<QueueName, BatchLimits>;
  observeQueue?: (name: QueueName, queue: ObservedQueue) => QueueObserver | undefined;
};

/** The approximate size of a plant on a page, in bytes. */
const PLANT_BYTES = 100;

const LATE = 'The database did not respond in time.';
const lateRead = () => new DatabaseTimeoutError();
const lateWrite = () => new OutcomeUnknownError(LATE);

/** The operations on plants. Batches requests and checks preconditions. */
export const createPlantService = ({ repository, limits, observeQueue }: PlantServiceOptions) => {
  const settingsOf = (name: QueueName, lateError: () => Error) => ({
    lateError,
    observe: (queue: ObservedQueue) => observeQueue?.(name, queue),
    limits: limits[name],
  });
  let lastRequestAt = Number.NEGATIVE_INFINITY;
  const noteRequest = () => {
    lastRequestAt = performance.now();
  };
  const locked = createLockedPlants(settingsOf('lockedPlants', lateWrite));
  const createUnlocked = async (plants: NewPlant[]): Promise<(undefined | Error)[]> => {
    if (!locked.isAnyLocked()) return repository.create(plants);
    const unlocked = plants.filter(({ id }) => !locked.isLocked(id));
    const outcomes = unlocked.length > 0 ? await repository.create(unlocked) : [];
    const outcomeOf = new Map(unlocked.map((plant, index) => [plant, outcomes[index]]));
    return plants.map((plant) => (outcomeOf.has(plant) ? outcomeOf.get(plant) : new PlantLockedError()));
  };
  const writes = createBatchQueue({
    ...settingsOf('writes', lateWrite),
    run: createUnlocked,
    bytesOf: ({ name, tag }) => textBytes(name) + textBytes(tag),
  });
  const pages = createBatchQueue({
    ...settingsOf('pages', lateRead),
    run: repository.list,
    bytesOf: () => 0,
    // An estimate. It bounds the plants per statement, because all pages of a statement share one timeout.
    resultBytesOf: ({ limit }: PageRequest) => limit * PLANT_BYTES,
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

  /** Writes to a plant only if it meets the condition and has not changed since. Retries if it has changed. */
  const writeIf = async <Result>(
    id: bigint,
    condition: PlantCondition | undefined,
    bytes: number,
    write: (expected?: StoredPlant, lockTimeout?: number) => Promise<Result | undefined>,
  ): Promise<Result> => {
    noteRequest();
    const timeLeft = startTimer(limits.changes.deadline);
    while (timeLeft() > 0) {
      const expected = condition && (await find(id, undefined, timeLeft()));
      if (expected && !condition(expected)) throw new PlantChangedError(id);
      const send = (lockTimeout?: number) =>
        write(expected, lockTimeout).catch((error: unknown) => {
          throw toWriteError(error);
        });
      const bytesHeld = bytes + textBytes(expected?.name) + textBytes(expected?.tag);
      const sendUnlocked = async () => {
        if (locked.isLocked(id)) throw new PlantLockedError();
        return send();
      };
      const share = () => changes({ send: sendUnlocked, bytes: bytesHeld, timeout: timeLeft() });
      const result = await locked.run(id, { share, send, bytes: bytesHeld, timeLeft });
      if (result !== undefined) return result;
      // Without a condition, no result means that there is no such plant; with one, that the plant has changed.
      if (!expected) throw new PlantUnknownError(id);
    }
    throw new OverloadedError('Too many concurrent changes to this plant.');
  };

  return {
    /**
     * Stores a plant and resolves once it is committed. Drops it if `isAbandoned` before it is sent to PostgreSQL.
     * @throws {PlantIdTakenError} {OverloadedError} {OutcomeUnknownError} or any database error
     */
    create: (plant: NewPlant, isAbandoned: () => boolean): Promise<void> => {
      noteRequest();
      const { id, name, tag } = plant;
      const send = async (lockTimeout: number) => {
        const [outcome] = await repository.create([plant], lockTimeout);
        if (outcome) throw outcome;
      };
      const timeLeft = startTimer(limits.writes.deadline);
      const share = () => writes.add(plant, isAbandoned, timeLeft());
      return locked.run(id, { share, send, bytes: textBytes(name) + textBytes(tag), isAbandoned, timeLeft });
    },
    /** When the last operation began, in ms of the monotonic clock. */
    lastRequestAt: (): number => lastRequestAt,
    /** @throws {PlantUnknownError} {OverloadedError} or any database error */
    find: (id: bigint, isAbandoned?: () => boolean): Promise<StoredPlant> => {
      noteRequest();
      return find(id, isAbandoned);
    },
    /** @throws {OverloadedError} {SearchTimeoutError} or any database error */
    list: async (request: PageRequest & PlantFilter, isAbandoned?: () => boolean): Promise<PlantPage> => {
      noteRequest();
      const { ids, tag, nameContains, ...page } = request;
      if (tag !== undefined || nameContains !== undefined) {
        const bytes = textBytes(tag) + textBytes(nameContains);
        const timeout = limits.searches.deadline;
        return searches({ send: () => search(request), bytes, timeout, isAbandoned });
      }
      const timeLeft = startTimer(limits.pages.deadline);
      const shared = ids ? undefined : await pages.add(page, isAbandoned);
      if (shared) return shared;
      return longReads({ send: () => repository.search(request), bytes: 0, timeout: timeLeft(), isAbandoned });
    },
    /**
     * @returns the plant as it is now
     * @throws {PlantUnknownError} {PlantChangedError} {OverloadedError} {OutcomeUnknownError} or any database error
     */
    update: (id: bigint, change: PlantChange, condition?: PlantCondition): Promise<StoredPlant> =>
      writeIf(id, condition, textBytes(change.name) + textBytes(change.tag), (expected, lockTimeout) =>
        repository.update(id, change, expected, lockTimeout),
      ),
    /** @throws as `update` */
    delete: async (id: bigint, condition?: PlantCondition): Promise<void> => {
      const write = async (expected?: StoredPlant, lockTimeout?: number) =>
        (await repository.delete(id, expected, lockTimeout)) || undefined;
      await writeIf(id, condition, 0, write);
    },
  };
};

export type PlantService = ReturnType<typeof createPlantService>;

/** The maximum memory of a string, in bytes. */
const textBytes = (text: string | null | undefined) => 2 * (text?.length ?? 0);

/** @returns a function that returns the remaining time, in ms */
const startTimer = (milliseconds: number) => {
  const deadline = performance.now() + milliseconds;
  return () => deadline - performance.now();
};
