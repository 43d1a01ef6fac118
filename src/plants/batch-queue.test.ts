import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type BatchLimits, createBatchQueue } from './batch-queue.ts';
import type { ObservedQueue, QueueObserver } from './queue-observer.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 100,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 1000,
  queueBytes: 1_000_000,
  deadline: 10_000,
};

/** As many turns of the event loop as anything here takes. */
const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};

/** Ends what the test left under way, with its timers. */
let endAll: () => Promise<void>;
afterEach(() => endAll());

type Item = { id: number; text: string };
type Outcome = string | Error;

/** A queue whose batches end when the test says so. */
const start = (
  overrides: Partial<BatchLimits> = {},
  observe?: (queue: ObservedQueue) => QueueObserver,
  answerBytesOf: (item: Item) => number = () => 0,
) => {
  const batches: { ids: number[]; end: (outcomes?: Outcome[]) => void }[] = [];
  const run = (items: Item[]) =>
    new Promise<Outcome[]>((resolve) => {
      const end = (outcomes: Outcome[] = items.map(() => 'done')) => resolve(outcomes);
      batches.push({ ids: items.map(({ id }) => id), end });
    });
  const { add } = createBatchQueue<Item, string>({
    run,
    bytesOf: ({ text }) => 2 * text.length,
    answerBytesOf,
    lateError: () => new RangeError(),
    observe,
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
  test('sends a lone item at once, and those that arrive meanwhile together', async () => {
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

  test('gives each item its own outcome', async () => {
    const { add, end } = start();
    const results = [add(1), add(2), add(3)];
    await turn();
    await end(0, ['done', new RangeError(), 'done']);
    expect(await Promise.all(results)).toEqual(['done', 'RangeError', 'done']);
  });

  test('has as many batches under way as it may, of no more items and bytes than they may have', async () => {
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

  test('gathers as many as are under way, while that is not for long', async () => {
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

  test('sends what has gathered for long, however long the batch under way takes', async () => {
    const { add, sent } = start({ batches: 2, gatherTime: 2000 });
    for (const id of [1, 2, 3]) add(id);
    await turn();
    const leftAt = performance.now();
    await setTimeout(1200);
    add(4);
    let gone = false;
    const waiting = add(5, '', () => gone);
    await turn();
    expect(sent()).toEqual([[1, 2, 3]]);
    gone = true;
    while (sent().length < 2) await setTimeout(5);
    expect(sent()[1]).toEqual([4]);
    expect(await waiting).toBe('OverloadedError');
    // Since the batch left, and not since the first of these came.
    expect(performance.now() - leftAt).toBeLessThan(2800);
  });

  test('refuses at once what is too much to wait, and takes on again when there is room', async () => {
    const { add, end } = start({ queueItems: 2 });
    add(1);
    await turn();
    add(2);
    add(3);
    expect(await add(4)).toBe('OverloadedError');
    await end(0);
    const later = add(5);
    await end(1);
    await end(2);
    expect(await later).toBe('done');
  });

  test('counts the bytes that wait', async () => {
    const { add } = start({ queueBytes: 10_000 });
    add(1, 'x'.repeat(4000));
    expect(await add(2, 'x'.repeat(4000))).toBe('OverloadedError');
  });

  test('takes on as many bytes again as left with a batch, and as were given up', async () => {
    const { add, end } = start({ queueBytes: 10_000 });
    const text = 'x'.repeat(4000);
    add(1);
    await turn();
    expect(await add(2, text, undefined, 10)).toBe('OverloadedError');
    const abandoned = add(3, '', () => true);
    await end(0);
    expect(await abandoned).toBe('OverloadedError');
    const blocking = add(4);
    await turn();
    // A queue that is empty takes anything.
    const waiting = [add(5), add(6, text)];
    expect(await add(7, text)).toBe('OverloadedError');
    await end(1);
    await end(2);
    expect(await Promise.all([blocking, ...waiting])).toEqual(['done', 'done', 'done']);
  });

  test('takes on an item that is too large for the queue when nothing else waits', async () => {
    const { add, end } = start({ queueBytes: 1000 });
    const large = add(1, 'x'.repeat(4000));
    await turn();
    await end(0);
    expect(await large).toBe('done');
  });

  test('takes on items up to the exact number and bytes', async () => {
    const counted = start({ queueItems: 2 });
    const outcomes = [counted.add(1), counted.add(2), counted.add(3)];
    expect(await outcomes[2]).toBe('OverloadedError');
    await turn();
    await counted.end(0);
    expect(await Promise.all(outcomes)).toEqual(['done', 'done', 'OverloadedError']);
    // Each is 500 bytes and its text.
    const weighed = start({ queueBytes: 1200 });
    const heavy = [weighed.add(1, 'x'.repeat(50)), weighed.add(2, 'x'.repeat(50)), weighed.add(3)];
    expect(await heavy[2]).toBe('OverloadedError');
    await turn();
    await weighed.end(0);
    expect(await Promise.all(heavy)).toEqual(['done', 'done', 'OverloadedError']);
  });

  test('counts the bytes of answers for a batch, and not while items wait', async () => {
    let bytes = () => 0;
    const observe = (queue: ObservedQueue): QueueObserver => {
      bytes = queue.bytes;
      expect(queue.byteLimit).toBe(5000);
      return { around: (_notes, run) => run() };
    };
    const { add, sent, end } = start({ batchBytes: 5000, queueBytes: 5000 }, observe, () => 2000);
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

  test('gives an item the time that it has left, and does not take on one that has none', async () => {
    const { add, sent, end } = start();
    const results = [add(1, '', undefined, 20)];
    await turn();
    results.push(add(2, '', undefined, 20), add(3, '', undefined, 0), add(4, '', undefined, -1));
    expect(await Promise.all(results)).toEqual(['RangeError', 'OverloadedError', 'OverloadedError', 'OverloadedError']);
    await end(0);
    expect(sent()).toEqual([[1]]);
  });

  test('drops an item whose client went away before it left, and keeps one that has left', async () => {
    const { add, sent, end } = start();
    let gone = false;
    const left = add(1, '', () => gone);
    await turn();
    const waiting = add(2, '', () => gone);
    const patient = add(3);
    gone = true;
    await end(0);
    await end(1);
    expect(sent()).toEqual([[1], [3]]);
    expect(await Promise.all([left, waiting, patient])).toEqual(['done', 'OverloadedError', 'done']);
  });

  test('lets nothing wait longer than the deadline, sent or not, and does not send what gave up', async () => {
    const { add, sent, end } = start({ deadline: 30 });
    const results = [add(1)];
    await turn();
    results.push(add(2));
    expect(await Promise.all(results)).toEqual(['RangeError', 'OverloadedError']);
    const later = add(3);
    await end(0);
    await end(1);
    expect(await later).toBe('done');
    expect(sent()).toEqual([[1], [3]]);
  });

  test('tells what waits at once that the database is away, and asks again for what comes later', async () => {
    const { add, sent, end } = start();
    const results = [add(1)];
    await turn();
    results.push(add(2), add(3));
    await end(0, [Object.assign(new Error(), { code: 'ECONNREFUSED', name: 'Refused' })]);
    expect(await Promise.all(results)).toEqual(['Refused', 'Refused', 'Refused']);
    const later = add(4);
    await end(0);
    await turn();
    await end(1);
    expect(await later).toBe('done');
    expect(sent()).toEqual([[1], [4]]);
  });

  test('keeps what waits where a batch fails for another reason', async () => {
    const { add, sent, end } = start();
    const results = [add(1)];
    await turn();
    results.push(add(2));
    await end(0, [Object.assign(new Error(), { code: '42501', name: 'Denied' })]);
    await end(1);
    expect(await Promise.all(results)).toEqual(['Denied', 'done']);
    expect(sent()).toEqual([[1], [2]]);
  });

  test('keeps no timer for what has its outcome', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
    const { add, end } = start();
    const before = timers();
    const results = [1, 2, 3].map((id) => add(id));
    expect(timers()).toBe(before + 3);
    await turn();
    await end(0);
    await Promise.all(results);
    expect(timers()).toBe(before);
  });

  test('tells its observer what enters, leaves and is dropped, each once, with the notes that it made', async () => {
    const seen: unknown[] = [];
    let waiting = () => 0;
    let notes = 0;
    const { add, end } = start({ deadline: 30 }, ({ length, limit }) => {
      seen.push(['limit', limit]);
      waiting = length;
      return {
        enter: () => ++notes,
        drop: (note) => seen.push(['dropped', note]),
        around: (batch, run) => {
          seen.push(['left', batch]);
          return run();
        },
      };
    });
    const results = [add(1)];
    await turn();
    results.push(
      add(2),
      add(3, '', () => true),
    );
    expect(waiting()).toBe(2);
    // The first was sent, and its outcome is late; the second waits too long, and the third's client is gone.
    expect(await Promise.all(results)).toEqual(['RangeError', 'OverloadedError', 'OverloadedError']);
    add(4);
    await end(0);
    expect(waiting()).toBe(0);
    expect(seen).toEqual([
      ['limit', 1000],
      ['left', [1]],
      ['dropped', 2],
      ['dropped', 3],
      ['left', [4]],
    ]);
  });
});
