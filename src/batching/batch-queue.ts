import { classifyDatabaseError } from '../database/database-error.ts';
import { setDeadline } from '../database/within-time.ts';
import { StoreError } from '../errors.ts';

export type ObservedQueue = {
  /** In metrics and traces; undefined for a queue that is in neither. */
  name: string | undefined;
  /** How many items are waiting. */
  length: () => number;
  /** How many items were sent to PostgreSQL and have no outcome yet, and in how many batches. */
  inProgress: () => number;
  batches: () => number;
  /** The approximate number of bytes that waiting items hold. */
  bytes: () => number;
  limits: BatchLimits;
};

/** Observes the items and batches of a queue. `Note`: what the observer stores for each item. */
export type QueueObserver<Note = unknown> = {
  /** Called when an item is queued, in the async context of its request. */
  enter?(): Note;
  /** Called when a waiting item is dropped. */
  drop?(note: Note): void;
  /** Called to run a batch of these items. Must call `run` once and return its result. */
  around?<Result>(notes: Note[], run: () => Promise<Result>): Promise<Result>;
  /** Called with the size of a batch that is sent. @returns a function that is called once it has its outcomes */
  onBatch?(items: number): () => void;
};

export type ObserveQueue = (queue: ObservedQueue) => QueueObserver;

export type BatchLimits = {
  /** The maximum number of batches in progress. Each uses one connection. */
  batches: number;
  /** The maximum size of a batch, in items and in bytes. */
  batchItems: number;
  batchBytes: number;
  /** How long, in ms, the next batch may wait to grow as large as those in progress. 0: no wait. */
  gatherTime: number;
  /** The maximum size of the queue, in items and in bytes. Further items are rejected immediately. */
  queueItems: number;
  queueBytes: number;
  /** How long an item may wait for its outcome, in ms. */
  deadline: number;
};

export type BatchQueueOptions<Item, Result> = {
  /** Returns the outcome of each item, in the same order. If it rejects, all items have that error. */
  run: (items: Item[]) => Promise<(Result | Error)[]>;
  /** The approximate number of bytes that an item holds while it waits; by default few. */
  bytesOf?: (item: Item) => number;
  /** The approximate size of the result. Counts towards `batchBytes` only: a waiting item does not hold it. */
  resultBytesOf?: (item: Item) => number;
  /** Creates the error for an item that was sent but has no outcome at its deadline. */
  lateError: () => Error;
  /** How long an outcome can take, in ms. With less time left, but at most half of it, an item is not sent. By default, it always is. */
  timeNeeded?: number;
  /** Why an item must not be sent any more, asked when it is its turn. */
  refuse?: (item: Item) => Error | undefined;
  name?: string | undefined;
  observe?: ObserveQueue | undefined;
  limits: BatchLimits;
};

type Entry<Item, Result> = {
  item: Item;
  bytes: number;
  resultBytes: number;
  isAbandoned: () => boolean;
  /** When it is too late to send it, in ms of `performance.now()`. */
  sendBefore: number;
  /** What `enter` of the observer returned. */
  note: unknown;
  state: 'queued' | 'sent' | 'settled';
  settle: (outcome: Result | Error) => void;
};

/** The approximate memory of an entry without its text, in bytes. */
const ENTRY_OVERHEAD = 500;

const waitedTooLong = () =>
  new StoreError('overloaded', 'The request waited too long for the database. Try again later.');

/**
 * Batches the database operations of concurrent requests: one statement, one round trip, one flush to disk. Items that
 * arrive while batches are in progress form the next batch. An item that finds no batch in progress is sent
 * immediately.
 */
export const createBatchQueue = <Item, Result>(options: BatchQueueOptions<Item, Result>) => {
  const { run, lateError, refuse = () => undefined, name, limits } = options;
  const { bytesOf = () => 0, resultBytesOf = () => 0, timeNeeded } = options;
  let queue: Entry<Item, Result>[] = [];
  let queueBytes = 0;
  let batchesInProgress = 0;
  let itemsInProgress = 0;
  let lastSentAt = 0;
  let gatherTimer: NodeJS.Timeout | undefined;
  let isScheduled = false;
  const observer = options.observe?.({
    name,
    length: () => queue.length,
    inProgress: () => itemsInProgress,
    batches: () => batchesInProgress,
    bytes: () => queueBytes,
    limits,
  });

  /**
   * Sends an item with the next batch. The item is dropped if `isAbandoned` before it is sent.
   * @param timeout how long the item may wait for its outcome, in ms
   * @throws {StoreError} 1500 or the error that `run` returns for the item
   */
  const add = (item: Item, isAbandoned = () => false, timeout = limits.deadline): Promise<Result> => {
    if (timeout <= 0) return Promise.reject(waitedTooLong());
    const bytes = ENTRY_OVERHEAD + bytesOf(item);
    const isTooLarge = queue.length > 0 && queueBytes + bytes > limits.queueBytes;
    if (isTooLarge || queue.length >= limits.queueItems) return Promise.reject(new StoreError('overloaded'));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const settle = (outcome: Result | Error) => {
      if (entry.state === 'settled') return;
      if (entry.state === 'queued') observer?.drop?.(entry.note);
      entry.state = 'settled';
      clearTimeout(timer);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const entry: Entry<Item, Result> = {
      item,
      bytes,
      resultBytes: resultBytesOf(item),
      isAbandoned,
      sendBefore: timeNeeded
        ? performance.now() + timeout - Math.min(timeNeeded, timeout / 2)
        : Number.POSITIVE_INFINITY,
      note: observer?.enter?.(),
      state: 'queued',
      settle,
    };
    const timer = setDeadline(() => settle(entry.state === 'sent' ? lateError() : waitedTooLong()), timeout);
    queue.push(entry);
    queueBytes += bytes;
    scheduleBatch();
    return promise;
  };

  /** Sends a batch at the end of this turn of the event loop, so that items that arrive together are sent together. */
  const scheduleBatch = () => {
    if (isScheduled || queue.length === 0 || batchesInProgress === limits.batches || waitForMore()) return;
    isScheduled = true;
    setImmediate(sendBatch);
  };

  /**
   * Waits for more items while a large batch is in progress, because a statement for a few costs as much as one for
   * many. Waits at most for the gather time, because the batch in progress may be stuck.
   * @returns whether the queued items must wait
   */
  const waitForMore = () => {
    if (queue.length >= itemsInProgress) return false;
    const timeLeft = lastSentAt + limits.gatherTime - performance.now();
    if (timeLeft <= 0) return false;
    gatherTimer ??= setTimeout(() => {
      gatherTimer = undefined;
      scheduleBatch();
    }, timeLeft);
    return true;
  };

  const sendBatch = async () => {
    isScheduled = false;
    clearTimeout(gatherTimer);
    gatherTimer = undefined;
    const batch = takeBatch();
    if (batch.length > 0) {
      batchesInProgress++;
      itemsInProgress += batch.length;
      lastSentAt = performance.now();
      scheduleBatch();
      const items = batch.map(({ item }) => item);
      const runBatch = async () => {
        try {
          return await run(items);
        } catch (error) {
          return batch.map(() => error as Error);
        }
      };
      const onEnd = observer?.onBatch?.(batch.length);
      const outcomes = await (observer?.around?.(
        batch.map(({ note }) => note),
        runBatch,
      ) ?? runBatch());
      onEnd?.();
      batchesInProgress--;
      itemsInProgress -= batch.length;
      for (const [index, entry] of batch.entries()) entry.settle(outcomes[index] as Result | Error);
      const [outcome] = outcomes;
      // The waiting items would fail in the same way, batch after batch, each after another timeout.
      if (isUnreachable(outcome)) for (const entry of queue) entry.settle(outcome);
    }
    scheduleBatch();
  };

  const refusalOf = ({ item, isAbandoned, sendBefore }: Entry<Item, Result>): Error | undefined => {
    if (isAbandoned()) return new StoreError('overloaded');
    return performance.now() > sendBefore ? waitedTooLong() : refuse(item);
  };

  const takeBatch = () => {
    const batch: Entry<Item, Result>[] = [];
    let batchBytes = 0;
    let taken = 0;
    for (const entry of queue) {
      const bytes = entry.bytes + entry.resultBytes;
      if (batch.length === limits.batchItems || (batch.length > 0 && batchBytes + bytes > limits.batchBytes)) break;
      taken++;
      queueBytes -= entry.bytes;
      if (entry.state === 'settled') continue;
      const refusal = refusalOf(entry);
      if (refusal) {
        entry.settle(refusal);
        continue;
      }
      entry.state = 'sent';
      batchBytes += bytes;
      batch.push(entry);
    }
    queue = queue.slice(taken);
    return batch;
  };

  return { add };
};

const isUnreachable = (outcome: unknown): outcome is Error =>
  outcome instanceof Error && classifyDatabaseError(outcome) === 'unreachable';
