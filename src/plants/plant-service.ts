import { type BatchLimits, createBatchQueue, OverloadedError } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { isStatementTimeout, OutcomeUnknownError, toWriteError } from '../database/database-error.ts';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import type { KeyedPlant, KeyedPlantRepository } from './keyed-plant-repository.ts';
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
  /** For requests with an Idempotency-Key. */
  keyed: KeyedPlantRepository;
  limits: Record<QueueName, BatchLimits>;
  observeQueue?: (name: QueueName, queue: ObservedQueue) => QueueObserver | undefined;
};

type Write<Result> = {
  id: bigint;
  condition: PlantCondition | undefined;
  /** The approximate number of bytes that it holds while it waits. */
  bytes: number;
  /** Set if it has an Idempotency-Key. */
  request?: KeyedRequest;
  /** @returns undefined if the plant is not `expected`, or if there is none */
  write: (expected?: StoredPlant, lockTimeout?: number) => Promise<Result | undefined>;
};

/** The approximate size of a plant on a page, in bytes. */
const PLANT_BYTES = 100;

const LATE = 'The database did not respond in time.';
const lateRead = () => new DatabaseTimeoutError();
const lateWrite = () => new OutcomeUnknownError(LATE);

/** The operations on plants. Batches requests and checks preconditions. */
export const createPlantService = ({ repository, keyed, limits, observeQueue }: PlantServiceOptions) => {
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
  const store = (plants: KeyedPlant[], lockTimeout?: number) =>
    (plants.some(({ request }) => request) ? keyed : repository).create(plants, lockTimeout);
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

  let bytesInReads = 0;
  /** Reads a plant for a change, whose `bytes` the queue of reads does not count. */
  const findForChange = async (id: bigint, bytes: number, timeLeft: number): Promise<StoredPlant> => {
    if (bytesInReads > 0 && bytesInReads + bytes > limits.changes.queueBytes)
      throw new OverloadedError('Too many requests are waiting for the database.');
    bytesInReads += bytes;
    try {
      return await find(id, undefined, timeLeft);
    } finally {
      bytesInReads -= bytes;
    }
  };

  /** Writes to a plant only if it meets the condition and has not changed since. Retries if it has changed. */
  const writeIf = async <Result>({ id, condition, bytes, request, write }: Write<Result>): Promise<Result> => {
    const timeLeft = startTimer(limits.changes.deadline);
    while (timeLeft() > 0) {
      const expected = condition && (await findForChange(id, bytes, timeLeft()));
      if (expected && !condition(expected)) throw new PlantChangedError(id);
      const sendOnce = (lockTimeout?: number) =>
        write(expected, lockTimeout).catch((error: unknown) => {
          throw toWriteError(error);
        });
      const send = (lockTimeout?: number) =>
        request ? keyed.unlessInUse(request, () => sendOnce(lockTimeout)) : sendOnce(lockTimeout);
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

  /** Changes a plant, or deletes it if `change` is undefined, unless an answer is kept for the key. */
  const writeOnce = async (
    request: KeyedRequest,
    { id, change, condition }: { id: bigint; change?: PlantChange; condition: PlantCondition | undefined },
  ): Promise<StoredPlant> => {
    const run = <Result>(send: () => Promise<Result>) =>
      changes({
        send: () => keyed.unlessInUse(request, send),
        bytes: request.bytes,
        timeout: limits.changes.deadline,
      });
    // Before the condition is checked: the first request may be what changed the plant.
    const known = condition && (await run(() => keyed.find(request, { id, change })));
    if (known) return known;
    const write = (expected?: StoredPlant, lockTimeout?: number) =>
      keyed.change(request, { id, change, expected, lockTimeout });
    try {
      return await writeIf({ id, condition, bytes: request.bytes, request, write });
    } catch (error) {
      const isUnmet = error instanceof PlantUnknownError || error instanceof PlantChangedError;
      if (!isUnmet || request.answer !== undefined) throw error;
      return run(() => keyed.keepFailure(request, { id, change }, error));
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
      const { id, name, tag } = plant;
      const sendOnce = async (lockTimeout: number) => {
        const [outcome] = await store([plant], lockTimeout);
        if (outcome) throw outcome;
      };
      const send = (lockTimeout: number) =>
        request ? keyed.unlessInUse(request, () => sendOnce(lockTimeout)) : sendOnce(lockTimeout);
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
     * @returns the plant as it is now, or as it was when the first request with the key changed it
     * @throws {PlantUnknownError} {PlantChangedError} {OverloadedError} {OutcomeUnknownError} or any database error
     */
    update: (
      id: bigint,
      change: PlantChange,
      condition?: PlantCondition,
      request?: KeyedRequest,
    ): Promise<StoredPlant> => {
      noteRequest();
      if (request) return writeOnce(request, { id, change, condition });
      const write = (expected?: StoredPlant, lockTimeout?: number) =>
        repository.update(id, change, expected, lockTimeout);
      return writeIf({ id, condition, bytes: textBytes(change.name) + textBytes(change.tag), write });
    },
    /** @throws as `update` */
    delete: async (id: bigint, condition?: PlantCondition, request?: KeyedRequest): Promise<void> => {
      noteRequest();
      const write = async (expected?: StoredPlant, lockTimeout?: number) =>
        (await repository.delete(id, expected, lockTimeout)) || undefined;
      await (request ? writeOnce(request, { id, condition }) : writeIf({ id, condition, bytes: 0, write }));
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
