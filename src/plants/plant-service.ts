import { type BatchLimits, createBatchQueue, type ObserveQueue } from '../batching/batch-queue.ts';
import { createStatementQueue, type StatementQueue } from '../batching/queues.ts';
import { isStatementTimeout, OutcomeUnknownError } from '../database/database-error.ts';
import { lateRead, startTimer } from '../database/within-time.ts';
import { isOfKind, StoreError } from '../errors.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import type { ManyRequest } from './change-many.ts';
import type { PlantToStore } from './insert-plants.ts';
import { createLockedPlants } from './locked-plants.ts';
import { type NewPlant, type PlantFilter, plantUnknown, type StoredPlant, textBytes } from './plant.ts';
import type { PageRequest, PlantPage } from './plant-pages.ts';
import type { ChangeRequest, PlantRepository } from './plant-repository.ts';

/**
 * Creations, reads and pages of all plants are batched: several requests share a statement. Long reads, searches and
 * changes have a statement each; creations and changes are refused if their plant was found locked while they waited. Each queue
 * uses only its share of the connections; see request-limits.ts.
 */
type LimitedQueue = 'writes' | 'reads' | 'pages' | 'longReads' | 'searches' | 'changes' | 'lockedPlants';

/** How long a statement may take, and wait for a lock, in ms. */
export type PlantLimits = Record<LimitedQueue, BatchLimits> & { statementTimeout: number; lockTimeout: number };

type PlantServiceOptions = {
  repository: PlantRepository;
  limits: PlantLimits;
  observeQueue?: ObserveQueue;
};

/** Whether the client has disconnected. What was not sent to PostgreSQL yet is then dropped. */
type IsAbandoned = () => boolean;

/** The approximate size of a plant on a page, in bytes. */
const PLANT_BYTES = 100;

const changeTooSlow = ({ limit }: ManyRequest) => {
  const advice = limit
    ? 'Lower the limit, or name the plants by their ids.'
    : 'Add a limit, and repeat the request until it changes none.';
  return `The change took too long; nothing was changed. ${advice}`;
};
const MANY_UNKNOWN =
  'The database was lost or took too long. The outcome is unknown: plants may have been changed. Count those that match before you send the request again.';
const lateWrite = () => new OutcomeUnknownError('The database did not respond in time.');
const lateSearch = () => new StoreError('searchTooSlow');

/** The operations on plants. All throw {StoreError} 1500 or any database error, and changes {OutcomeUnknownError}. */
export const createPlantService = ({ repository, limits, observeQueue }: PlantServiceOptions) => {
  const settingsOf = (name: LimitedQueue, lateError: () => Error) => ({
    name,
    lateError,
    observe: observeQueue,
    limits: limits[name],
  });
  const refuse = (write: { id: bigint }) => locked.refuse(write);
  // It may wait for a lock. PostgreSQL or the network may be slow as well.
  const timeNeeded = 2 * limits.lockTimeout;
  const writes = createBatchQueue({
    ...settingsOf('writes', lateWrite),
    run: (plants: PlantToStore[]) => repository.insert(plants, locked.maxWait('first')),
    bytesOf: textBytes,
    refuse,
    timeNeeded,
  });
  const changes = createBatchQueue({
    ...settingsOf('changes', lateWrite),
    run: async ([request]: ChangeRequest[]) => [
      await repository.change(request as ChangeRequest, locked.maxWait('first')),
    ],
    bytesOf: bytesOfChange,
    refuse,
    timeNeeded,
    limits: { ...limits.changes, batchItems: 1 },
  });
  const locked = createLockedPlants({
    send: createStatementQueue(settingsOf('lockedPlants', lateWrite)),
    limits: limits.lockedPlants,
    timeNeeded,
  });
  const reads = createBatchQueue({
    ...settingsOf('reads', lateRead),
    run: async (ids: bigint[]) => {
      const found = await repository.findByIds([...new Set(ids)]);
      return ids.map((id) => found.get(id) ?? plantUnknown(id));
    },
  });
  const pages = createBatchQueue({
    ...settingsOf('pages', lateRead),
    run: repository.list,
    // An estimate. It bounds the plants per statement, because all pages of a statement share one timeout.
    resultBytesOf: ({ limit }: PageRequest) => limit * PLANT_BYTES,
  });
  const longReads = createStatementQueue(settingsOf('longReads', lateRead));
  const searches = createStatementQueue(settingsOf('searches', lateSearch));
  // An index has the plants of a page by tag, so these must not wait for scans of the table, or for counts of a million plants.
  const tagSearches = createStatementQueue({ ...settingsOf('searches', lateSearch), name: 'tagSearches' });

  const search = <Result>(
    queue: StatementQueue,
    { tag, q }: PlantFilter,
    send: () => Promise<Result>,
    isAbandoned: IsAbandoned,
  ): Promise<Result> =>
    queue({ send, bytes: textBytes({ name: q, tag }), timeout: limits.searches.deadline, isAbandoned }).catch(
      (error) => {
        throw isStatementTimeout(error) ? new StoreError('searchTooSlow', undefined, { cause: error }) : error;
      },
    );

  return {
    /**
     * Stores a plant and resolves once it is committed.
     * @throws {StoreError} 1004, 1301
     */
    create: (newPlant: NewPlant, isAbandoned: IsAbandoned, keyed?: KeyedRequest): Promise<void> => {
      const timeLeft = startTimer(limits.writes.deadline);
      const plant = keyed ? { ...newPlant, keyed } : newPlant;
      const first = locked.has(plant.id) ? undefined : writes.add(plant, isAbandoned);
      const send = async () => {
        const [outcome] = await repository.insert([plant], locked.maxWait('next'));
        if (outcome) throw outcome;
      };
      return locked.retry(plant.id, first, { send, bytes: textBytes(plant), timeLeft, isAbandoned });
    },

    /** See `change` of the repository. */
    change: (request: ChangeRequest, isAbandoned: IsAbandoned): Promise<StoredPlant | undefined> => {
      const timeLeft = startTimer(limits.changes.deadline);
      const first = locked.has(request.id) ? undefined : changes.add(request, isAbandoned);
      const send = () => repository.change(request, locked.maxWait('next'));
      return locked.retry(request.id, first, { send, bytes: bytesOfChange(request), timeLeft, isAbandoned });
    },

    /** @throws {StoreError} 1201 */
    find: async (id: bigint, isAbandoned: IsAbandoned): Promise<StoredPlant> => {
      const timeLeft = startTimer(limits.reads.deadline);
      const found = await reads.add(id, isAbandoned);
      if (found !== 'long') return found;
      return longReads({ send: () => repository.find(id), bytes: 0, timeout: timeLeft(), isAbandoned });
    },

    /** @throws {StoreError} 1505 */
    list: async (request: PageRequest & PlantFilter, isAbandoned: IsAbandoned): Promise<PlantPage> => {
      const { id, tag, q, ...page } = request;
      const send = () => repository.search(request);
      if (q !== undefined) return search(searches, request, send, isAbandoned);
      if (tag !== undefined) return search(tagSearches, request, send, isAbandoned);
      const timeLeft = startTimer(limits.pages.deadline);
      const shared = id ? undefined : await pages.add(page, isAbandoned);
      return shared ?? longReads({ send, bytes: 0, timeout: timeLeft(), isAbandoned });
    },

    /** @throws {StoreError} 1505 */
    count: (request: ManyRequest, isAbandoned: IsAbandoned): Promise<number> =>
      search(searches, request.filter, () => repository.count(request), isAbandoned),

    /**
     * Changes or deletes many plants. Waits with the searches, so that it does not hold up changes of one plant.
     * @returns their number
     * @throws {StoreError} 1505 PostgreSQL canceled it, so nothing was changed
     */
    changeMany: (request: ManyRequest, isAbandoned: IsAbandoned): Promise<number> => {
      const { filter, change } = request;
      const timeLeft = startTimer(limits.searches.deadline);
      const send = async () => {
        // PostgreSQL must cancel it before its deadline, after which the outcome would be unknown.
        if (timeLeft() < limits.statementTimeout) throw new StoreError('overloaded');
        return repository.changeMany(request);
      };
      const bytes = textBytes({ name: filter.q, tag: filter.tag }) + textBytes(change);
      return searches({ send, bytes, timeout: timeLeft(), isAbandoned }).catch((error) => {
        if (isStatementTimeout(error)) throw new StoreError('searchTooSlow', changeTooSlow(request), { cause: error });
        // PostgreSQL did not respond before the deadline, and may still make the change.
        const failure = isOfKind(error, 'searchTooSlow') ? lateWrite() : error;
        if (!(failure instanceof OutcomeUnknownError)) throw failure;
        throw new StoreError('databaseUnreachable', MANY_UNKNOWN, { cause: failure });
      });
    },

    /** What requests hold, besides the queues. */
    inUse: () => ({ lockedPlants: locked.count() }),
  };
};

export type PlantService = ReturnType<typeof createPlantService>;

const bytesOfChange = ({ change }: ChangeRequest) => (change === 'delete' ? 0 : textBytes(change));
