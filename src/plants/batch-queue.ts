import { classifyDatabaseError } from '../database/database-error.ts';
import { setDeadline } from '../database/within-time.ts';
import { OverloadedError } from './plant-errors.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';

export type BatchLimits = {
  /** Batches under way at once; each takes a connection. */
  batches: number;
  /** Items in a batch, and the bytes that they take up. */
  batchItems: number;
  batchBytes: number;
  /** How long after a batch left, in ms, items wait to be as many as are under way; 0: they leave as soon as a batch may. */
  gatherTime: number;
  /** Items that wait, and the bytes that they take up; past either, an item is refused at once. */
  queueItems: number;
  queueBytes: number;
  /** How long an item waits for its outcome, in ms. */
  deadline: number;
};

type BatchQueueOptions<Item, Result> = {
  /** Answers each item, in their order, with its own outcome; where it rejects, that is the outcome of all. */
  run: (items: Item[]) => Promise<(Result | Error)[]>;
  /** About how many bytes an item holds while it waits. */
  bytesOf: (item: Item) => number;
  /** About how many bytes its answer takes. They count towards `batchBytes` alone: a waiting item does not hold them. */
  answerBytesOf?: (item: Item) => number;
  /** What becomes of an item that left and was not answered before the deadline. */
  lateError: () => Error;
  /** For who wants to look on. */
  observe?: ((queue: ObservedQueue) => QueueObserver | undefined) | undefined;
  limits: BatchLimits;
};

/** An item on its way from the request to its outcome. */
type Entry<Item, Result> = {
  item: Item;
  bytes: number;
  answerBytes: number;
  isAbandoned: () => boolean;
  /** The observer's. */
  note: unknown;
  state: 'queued' | 'sent' | 'settled';
  settle: (outcome: Result | Error) => void;
};

/** What an entry takes up besides its text, about; in bytes. */
const ENTRY_OVERHEAD = 500;

/**
 * Sends what requests want of the database together: one statement, one round trip, one flush to disk. What arrives while
 * batches are under way waits, and makes up the next. While none is, no timer holds an item back: it leaves at once.
 */
export const createBatchQueue = <Item, Result>(options: BatchQueueOptions<Item, Result>) => {
  const { run, bytesOf, answerBytesOf = () => 0, lateError, observe, limits } = options;
  let queue: Entry<Item, Result>[] = [];
  let queueBytes = 0;
  let batchesUnderWay = 0;
  let itemsUnderWay = 0;
  let lastLeftAt = 0;
  let gatherTimer: NodeJS.Timeout | undefined;
  let leaving = false;
  const observer = observe?.({
    length: () => queue.length,
    limit: limits.queueItems,
    bytes: () => queueBytes,
    byteLimit: limits.queueBytes,
  });

  /**
   * Sends an item with the next batch. One that `isAbandoned` is dropped, if it has not left.
   * @param timeout how long the item may wait for its outcome, in ms
   * @throws {OverloadedError} the item's own error, where `run` answers it with one
   */
  const add = (item: Item, isAbandoned = () => false, timeout = limits.deadline): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (timeout <= 0) {
        reject(new OverloadedError('Waited too long.'));
        return;
      }
      const bytes = ENTRY_OVERHEAD + bytesOf(item);
      const isTooMuch = queue.length > 0 && queueBytes + bytes > limits.queueBytes;
      if (isTooMuch || queue.length >= limits.queueItems) {
        reject(new OverloadedError('Too many requests wait for the database.'));
        return;
      }
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
        answerBytes: answerBytesOf(item),
        isAbandoned,
        note: observer?.enter?.(),
        state: 'queued',
        settle,
      };
      const onDeadline = () => settle(entry.state === 'sent' ? lateError() : new OverloadedError('Waited too long.'));
      const timer = setDeadline(onDeadline, timeout);
      queue.push(entry);
      queueBytes += bytes;
      leaveSoon();
    });

  /** At the end of this turn of the event loop, so that what still arrives in it leaves together. */
  const leaveSoon = () => {
    if (leaving || queue.length === 0 || batchesUnderWay === limits.batches || holdBack()) return;
    leaving = true;
    setImmediate(leave);
  };

  /**
   * A statement for the first few that arrive while a long batch is under way costs as much as one for all that are about
   * to. Not for longer than the gather time: the batch under way may be stuck.
   * @returns whether what waits is to wait on
   */
  const holdBack = () => {
    if (queue.length >= itemsUnderWay || queueBytes >= limits.batchBytes) return false;
    const timeLeft = lastLeftAt + limits.gatherTime - performance.now();
    if (timeLeft <= 0) return false;
    gatherTimer ??= setTimeout(() => {
      gatherTimer = undefined;
      leaveSoon();
    }, timeLeft);
    return true;
  };

  const leave = async () => {
    leaving = false;
    clearTimeout(gatherTimer);
    gatherTimer = undefined;
    const batch = takeBatch();
    if (batch.length > 0) {
      batchesUnderWay++;
      itemsUnderWay += batch.length;
      lastLeftAt = performance.now();
      leaveSoon();
      const runBatch = () => run(batch.map(({ item }) => item)).catch((error: Error) => batch.map(() => error));
      const notes = batch.map(({ note }) => note);
      const outcomes = await (observer ? observer.around(notes, runBatch) : runBatch());
      batchesUnderWay--;
      itemsUnderWay -= batch.length;
      for (const [index, entry] of batch.entries()) entry.settle(outcomes[index] as Result | Error);
      const [first] = outcomes;
      // What waits would learn the same, one batch after another, each after the time that it takes to find it out.
      if (isUnreachable(first)) for (const entry of queue) entry.settle(first);
    }
    leaveSoon();
  };

  const takeBatch = () => {
    const batch: Entry<Item, Result>[] = [];
    let batchBytes = 0;
    let taken = 0;
    for (const entry of queue) {
      const bytes = entry.bytes + entry.answerBytes;
      if (batch.length === limits.batchItems || (batch.length > 0 && batchBytes + bytes > limits.batchBytes)) break;
      taken++;
      queueBytes -= entry.bytes;
      if (entry.state === 'settled') continue;
      if (entry.isAbandoned()) {
        entry.settle(new OverloadedError('Its client went away.'));
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
