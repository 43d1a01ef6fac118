import { type BatchLimits, createBatchQueue } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { isStatementTimeout, OutcomeUnknownError } from '../database/database-error.ts';
import { DatabaseTimeoutError, startTimer } from '../database/within-time.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import type { KeyedPlant, KeyedPlantRepository } from './keyed-plant-repository.ts';
import { createLockedPlants } from './locked-plants.ts';
import { type NewPlant, textBytes } from './plant.ts';
import { createPlantChanger } from './plant-changer.ts';
import { PlantLockedError, SearchTimeoutError } from './plant-errors.ts';
import type { PageRequest, PlantFilter, PlantPage } from './plant-pages.ts';
import { createPlantReader } from './plant-reader.ts';
import type { PlantRepository } from './plant-repository.ts';

/**
 * Writes, reads and pages of all plants are batched: several requests share a statement. Long reads, searches and
 * changes have a statement each. Each queue uses only its share of the connections; see request-limits.ts.
 */
type QueueName = 'writes' | 'reads' | 'pages' | 'longReads' | 'searches' | 'changes' | 'lockedPlants';

type PlantServiceOptions = {
  repository: PlantRepository;
  /** For requests with an Idempotency-Key. */
  keyedRepository: KeyedPlantRepository;
  limits: Record<QueueName, BatchLimits>;
  observeQueue?: (name: QueueName, queue: ObservedQueue) => QueueObserver | undefined;
};

/** The approximate size of a plant on a page, in bytes. */
const PLANT_BYTES = 100;

const LATE = 'The database did not respond in time.';
const lateRead = () => new DatabaseTimeoutError();
const lateWrite = () => new OutcomeUnknownError(LATE);

/** The operations on plants, each with a queue of its own. */
export const createPlantService = ({ repository, keyedRepository, limits, observeQueue }: PlantServiceOptions) => {
  const settingsOf = (name: QueueName, lateError: () => Error) => ({
    lateError,
    observe: (queue: ObservedQueue) => observeQueue?.(name, queue),
    limits: limits[name],
  });
  let lastRequestAt = Number.NEGATIVE_INFINITY;
  const noteRequest = () => {
    lastRequestAt = performance.now();
  };
  const noted =
    <Parameters extends unknown[], Result>(run: (...parameters: Parameters) => Result) =>
    (...parameters: Parameters): Result => {
      noteRequest();
      return run(...parameters);
    };
  const locked = createLockedPlants(settingsOf('lockedPlants', lateWrite));
  const store = (plants: KeyedPlant[], lockTimeout?: number) =>
    (plants.some(({ request }) => request) ? keyedRepository : repository).create(plants, lockTimeout);
  const createUnlocked = async (plants: KeyedPlant[]): Promise<(undefined | Error)[]> => {
    if (!locked.isAnyLocked()) return store(plants);
    const unlocked = plants.filter(({ id }) => !locked.isLocked(id));
    const outcomes = unlocked.length > 0 ? await store(unlocked) : [];
    const outcomeOf = new Map(unlocked.map((plant, index) => [plant, outcomes[index]]));
    return plants.map((plant) => (outcomeOf.has(plant) ? outcomeOf.get(plant) : new PlantLockedError()));
  };
  const writes = createBatchQueue({
    ...settingsOf('writes', lateWrite),
    run: createUnlocked,
    bytesOf: textBytes,
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
  const changer = createPlantChanger({ repository, keyedRepository, changes, locked, find, limits: limits.changes });

  const search = async (request: PageRequest & PlantFilter): Promise<PlantPage> => {
    try {
      return await repository.search(request);
    } catch (error) {
      throw isStatementTimeout(error) ? new SearchTimeoutError(LATE, { cause: error }) : error;
    }
  };

  return {
    /**
     * Stores a plant and resolves once it is committed. Drops it if `isAbandoned` before it is sent to PostgreSQL.
     * @throws {PlantIdTakenError} {OverloadedError} {OutcomeUnknownError} or any database error
     */
    create: (newPlant: NewPlant, isAbandoned: () => boolean, request?: KeyedRequest): Promise<void> => {
      noteRequest();
      const plant = request ? { ...newPlant, request } : newPlant;
      const sendOnce = async (lockTimeout: number) => {
        const [outcome] = await store([plant], lockTimeout);
        if (outcome) throw outcome;
      };
      const send = (lockTimeout: number) =>
        request ? keyedRepository.unlessInUse(request, () => sendOnce(lockTimeout)) : sendOnce(lockTimeout);
      const timeLeft = startTimer(limits.writes.deadline);
      const share = () => writes.add(plant, isAbandoned, timeLeft());
      return locked.run(plant.id, { share, send, bytes: textBytes(plant), isAbandoned, timeLeft });
    },
    /** When the last operation began, in ms of the monotonic clock. */
    lastRequestAt: (): number => lastRequestAt,
    /** @throws {OverloadedError} {SearchTimeoutError} or any database error */
    list: async (request: PageRequest & PlantFilter, isAbandoned?: () => boolean): Promise<PlantPage> => {
      noteRequest();
      const { ids, tag, nameContains, ...page } = request;
      if (tag !== undefined || nameContains !== undefined) {
        const bytes = textBytes({ name: nameContains, tag });
        const timeout = limits.searches.deadline;
        return searches({ send: () => search(request), bytes, timeout, isAbandoned });
      }
      const timeLeft = startTimer(limits.pages.deadline);
      const shared = ids ? undefined : await pages.add(page, isAbandoned);
      if (shared) return shared;
      return longReads({ send: () => repository.search(request), bytes: 0, timeout: timeLeft(), isAbandoned });
    },
    /** See `createPlantReader`. */
    find: noted(find),
    /** See `createPlantChanger`. */
    update: noted(changer.update),
    /** See `createPlantChanger`. */
    delete: noted(changer.delete),
  };
};

export type PlantService = ReturnType<typeof createPlantService>;
