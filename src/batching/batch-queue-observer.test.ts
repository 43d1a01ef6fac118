import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type BatchLimits, createBatchQueue, type ObservedQueue, type QueueObserver } from './batch-queue.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 100,
  batchBytes: 5000,
  gatherTime: 0,
  queueItems: 1000,
  queueBytes: 5000,
  deadline: 30,
};

/** Enough turns of the event loop for everything in these tests. */
const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};

// Time passes only when a test says so.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** A queue with an observer, whose batches end when the test ends them. */
const start = (observe: (queue: ObservedQueue) => QueueObserver, resultBytes = 0) => {
  const batches: { ids: number[]; end: (outcomes: string[]) => void }[] = [];
  const { add } = createBatchQueue<number, string>({
    run: (ids) => new Promise((end) => batches.push({ ids, end })),
    bytesOf: () => 0,
    resultBytesOf: () => resultBytes,
    lateError: () => new RangeError(),
    observe,
    limits,
  });
  return {
    sent: () => batches.map(({ ids }) => ids),
    add: (id: number, isAbandoned?: () => boolean) => add(id, isAbandoned).catch((error: Error) => error.name),
    end: async (index: number) => {
      const { ids = [], end } = batches[index] ?? {};
      end?.(ids.map(() => 'done'));
      await turn();
    },
  };
};

test('an observer sees the bytes of items that wait; those of results count towards a batch only', async () => {
  let bytes = () => 0;
  const { add, sent, end } = start((queue) => {
    bytes = queue.bytes;
    expect(queue.limits.queueBytes).toBe(5000);
    return {};
  }, 2000);
  const outcomes = [1, 2, 3, 4].map((id) => add(id));
  expect(bytes()).toBe(2000);
  await turn();
  expect(bytes()).toBe(1000);
  expect(sent()).toEqual([[1, 2]]);
  await end(0);
  expect(sent()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  await end(1);
  expect(await Promise.all(outcomes)).toEqual(['done', 'done', 'done', 'done']);
  expect(bytes()).toBe(0);
});

test('an observer sees each queued, sent and dropped item once, with its note', async () => {
  const seen: unknown[] = [];
  let waiting = () => 0;
  let notes = 0;
  const { add, end } = start(({ length, limits }) => {
    seen.push(['limit', limits.queueItems]);
    waiting = length;
    return {
      enter: () => ++notes,
      drop: (note) => seen.push(['dropped', note]),
      around: (batch, run) => {
        seen.push(['sent', batch]);
        return run();
      },
      onBatch: (items) => {
        seen.push(['items', items]);
        return () => seen.push(['end', items]);
      },
    };
  });
  const results = [add(1)];
  await turn();
  results.push(
    add(2),
    add(3, () => true),
  );
  expect(waiting()).toBe(2);
  jest.advanceTimersByTime(30);
  await turn();
  // The first was sent, but its outcome is late; the second waits too long; the client of the third has disconnected.
  expect(await Promise.all(results)).toEqual(['RangeError', 'overloaded', 'overloaded']);
  const last = add(4);
  await end(0);
  expect(waiting()).toBe(0);
  expect(seen).toEqual([
    ['limit', 1000],
    ['items', 1],
    ['sent', [1]],
    ['dropped', 2],
    ['dropped', 3],
    ['end', 1],
    ['items', 1],
    ['sent', [4]],
  ]);
  await end(1);
  expect(await last).toBe('done');
});

test('a queue counts the items that wait, and each that is sent', async () => {
  const queues: ObservedQueue[] = [];
  const { add, end } = start((queue) => {
    queues.push(queue);
    return {};
  });
  const inUse = () => queues.map(({ length, bytes, inProgress }) => [length(), bytes(), inProgress()]);
  const outcomes = [add(1), add(2), add(3)];
  await turn();
  outcomes.push(add(5));
  expect(inUse()).toEqual([[1, 500, 3]]);
  await end(0);
  await end(1);
  expect(await Promise.all(outcomes)).toEqual(outcomes.map(() => 'done'));
  expect(inUse()).toEqual([[0, 0, 0]]);
});
