import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 100,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 1000,
  queueBytes: 1_000_000,
  deadline: 10_000,
};

/** Enough turns of the event loop for everything in these tests. */
const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};

// Time passes only when a test says so.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
/** Ends the batches that a test left in progress, and their timers. */
let endAll: () => Promise<void>;
afterEach(async () => {
  await endAll();
  jest.useRealTimers();
});

const pass = async (milliseconds: number) => {
  jest.advanceTimersByTime(milliseconds);
  await turn();
};

type Item = { id: number; text: string };
type Outcome = string | Error;
const REFUSED = 'refused';

/** A queue whose batches end when the test ends them. */
const start = (overrides: Partial<BatchLimits> = {}) => {
  const batches: { ids: number[]; end: (outcomes?: Outcome[]) => void }[] = [];
  const run = (items: Item[]) =>
    new Promise<Outcome[]>((resolve) => {
      const end = (outcomes: Outcome[] = items.map(() => 'done')) => resolve(outcomes);
      batches.push({ ids: items.map(({ id }) => id), end });
    });
  const { add } = createBatchQueue<Item, string>({
    run,
    bytesOf: ({ text }) => 2 * text.length,
    refuse: ({ text }) => (text === REFUSED ? new URIError() : undefined),
    lateError: () => new RangeError(),
    limits: { ...limits, ...overrides },
  });
  const sent = () => batches.map(({ ids }) => ids);
  endAll = async () => {
    await turn();
    for (let index = 0; index < batches.length; index++) {
      batches[index]?.end();
      await turn();
    }
  };
  return {
    sent,
    add: (id: number, text = '', isAbandoned?: () => boolean, timeout?: number) =>
      add({ id, text }, isAbandoned, timeout).catch((error: Error) => error.name),
    end: async (index: number, outcomes?: Outcome[]) => {
      batches[index]?.end(outcomes);
      await turn();
    },
  };
};

describe('createBatchQueue', () => {
  test('sends a single item immediately, and the items that arrive meanwhile together', async () => {
    const { add, sent, end } = start();
    const results = [add(1)];
    await turn();
    expect(sent()).toEqual([[1]]);
    results.push(add(2), add(3));
    await turn();
    results.push(add(4));
    expect(sent()).toEqual([[1]]);
    await end(0);
    expect(sent()).toEqual([[1], [2, 3, 4]]);
    await end(1);
    expect(await Promise.all(results)).toEqual(['done', 'done', 'done', 'done']);
  });

  test('gives each item its own outcome, and does not send one that is refused', async () => {
    const { add, sent, end } = start();
    const results = [add(1), add(2), add(4, REFUSED), add(3)];
    await turn();
    await end(0, ['done', new RangeError(), 'done']);
    expect(await Promise.all(results)).toEqual(['done', 'RangeError', 'URIError', 'done']);
    expect(sent()).toEqual([[1, 2, 3]]);
  });

  test('respects the limits on batches in progress, items and bytes', async () => {
    const { add, sent, end } = start({ batches: 2, batchItems: 2, batchBytes: 3000 });
    for (const id of [1, 2, 3, 4, 5]) add(id);
    add(6, 'x'.repeat(2000));
    add(7);
    await turn();
    expect(sent()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    await end(1);
    expect(sent()[2]).toEqual([5]);
    await end(0);
    expect(sent()[3]).toEqual([6]);
    await end(2);
    expect(sent()[4]).toEqual([7]);
  });

  test('waits for as many items as are in progress, within the gather time', async () => {
    const { add, sent, end } = start({ batches: 2, gatherTime: 10_000 });
    for (const id of [1, 2, 3]) add(id);
    await turn();
    for (const id of [4, 5]) add(id);
    await turn();
    expect(sent()).toEqual([[1, 2, 3]]);
    add(6);
    await turn();
    expect(sent()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    add(7);
    await end(0);
    expect(sent()).toHaveLength(2);
    await end(1);
    expect(sent()[2]).toEqual([7]);
  });

  test('sends waiting items after the gather time, even if the batch in progress takes longer', async () => {
    const { add, sent } = start({ batches: 2, gatherTime: 2000 });
    for (const id of [1, 2, 3]) add(id);
    await turn();
    await pass(1200);
    add(4);
    let disconnected = false;
    const waiting = add(5, '', () => disconnected);
    await turn();
    // The time counts from the last batch, not from the first waiting item.
    await pass(799);
    expect(sent()).toEqual([[1, 2, 3]]);
    disconnected = true;
    await pass(1);
    expect(sent()).toEqual([[1, 2, 3], [4]]);
    expect(await waiting).toBe('overloaded');
  });

  test('waits for the gather time again after the batch that ended the wait before', async () => {
    const { add, sent, end } = start({ batches: 3, gatherTime: 2000 });
    for (const id of [1, 2, 3]) add(id);
    await turn();
    add(4);
    await turn();
    await end(0);
    expect(sent()).toEqual([[1, 2, 3], [4]]);
    for (const id of [5, 6, 7]) add(id);
    await turn();
    add(8);
    await turn();
    expect(sent()).toHaveLength(3);
    await pass(2000);
    expect(sent()[3]).toEqual([8]);
  });

  test('rejects items immediately while the queue is full, and accepts them again once there is room', async () => {
    const { add, end } = start({ queueItems: 2 });
    add(1);
    await turn();
    add(2);
    add(3);
    expect(await add(4)).toBe('overloaded');
    await end(0);
    const later = add(5);
    await end(1);
    await end(2);
    expect(await later).toBe('done');
  });

  test('limits the bytes that wait', async () => {
    const { add } = start({ queueBytes: 10_000 });
    add(1, 'x'.repeat(4000));
    expect(await add(2, 'x'.repeat(4000))).toBe('overloaded');
  });

  test('frees the bytes of items that are sent or dropped', async () => {
    const { add, end } = start({ queueBytes: 10_000 });
    const text = 'x'.repeat(4000);
    add(1);
    await turn();
    const late = add(2, text, undefined, 10);
    await pass(10);
    expect(await late).toBe('overloaded');
    const abandoned = add(3, '', () => true);
    await end(0);
    expect(await abandoned).toBe('overloaded');
    const blocking = add(4);
    await turn();
    // An empty queue accepts an item of any size.
    const waiting = [add(5), add(6, text)];
    expect(await add(7, text)).toBe('overloaded');
    await end(1);
    await end(2);
    expect(await Promise.all([blocking, ...waiting])).toEqual(['done', 'done', 'done']);
  });

  test('accepts an item that is larger than the queue limit if the queue is empty', async () => {
    const { add, end } = start({ queueBytes: 1000 });
    const large = add(1, 'x'.repeat(4000));
    await turn();
    await end(0);
    expect(await large).toBe('done');
  });

  test('respects the timeout of an item, and rejects an item that has no time left', async () => {
    const { add, sent, end } = start();
    const results = [add(1, '', undefined, 20)];
    await turn();
    results.push(add(2, '', undefined, 20), add(3, '', undefined, 0), add(4, '', undefined, -1));
    await pass(20);
    expect(await Promise.all(results)).toEqual(['RangeError', 'overloaded', 'overloaded', 'overloaded']);
    await end(0);
    expect(sent()).toEqual([[1]]);
  });

  test('drops an abandoned item that was not sent, and keeps one that was sent', async () => {
    const { add, sent, end } = start();
    let disconnected = false;
    const alreadySent = add(1, '', () => disconnected);
    await turn();
    const waiting = add(2, '', () => disconnected);
    const patient = add(3);
    disconnected = true;
    await end(0);
    await end(1);
    expect(sent()).toEqual([[1], [3]]);
    expect(await Promise.all([alreadySent, waiting, patient])).toEqual(['done', 'overloaded', 'done']);
  });

  test('fails every item at its deadline, sent or not, and does not send it afterwards', async () => {
    const { add, sent, end } = start({ deadline: 30 });
    const results = [add(1)];
    await turn();
    results.push(add(2));
    await pass(30);
    expect(await Promise.all(results)).toEqual(['RangeError', 'overloaded']);
    const later = add(3);
    await end(0);
    await end(1);
    expect(await later).toBe('done');
    expect(sent()).toEqual([[1], [3]]);
  });

  test('fails all waiting items if the database is unreachable, and tries again for later ones', async () => {
    const { add, sent, end } = start();
    const results = [add(1)];
    await turn();
    results.push(add(2), add(3));
    await end(0, [Object.assign(new Error(), { code: '57P03', name: 'Refused' })]);
    expect(await Promise.all(results)).toEqual(['Refused', 'Refused', 'Refused']);
    const later = add(4);
    await end(0);
    await turn();
    await end(1);
    expect(await later).toBe('done');
    expect(sent()).toEqual([[1], [4]]);
  });

  test.each([
    ['Denied', { code: '42501' }],
    ['Broken', { code: '57P01' }],
    ['Busy', { message: 'timeout exceeded when trying to connect' }],
  ])('keeps the waiting items if a batch fails for another reason: %s', async (name, error) => {
    const { add, sent, end } = start();
    const results = [add(1)];
    await turn();
    results.push(add(2));
    await end(0, [Object.assign(new Error(), { ...error, name })]);
    await end(1);
    expect(await Promise.all(results)).toEqual([name, 'done']);
    expect(sent()).toEqual([[1], [2]]);
  });

  test('keeps no timer for an item with an outcome', async () => {
    const { add, end } = start();
    const results = [1, 2, 3].map((id) => add(id));
    expect(jest.getTimerCount()).toBe(3);
    await turn();
    await end(0);
    await Promise.all(results);
    expect(jest.getTimerCount()).toBe(0);
  });
});
