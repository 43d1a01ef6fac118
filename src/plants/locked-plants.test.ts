import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import type { BatchLimits } from '../batching/batch-queue.ts';
import { createStatementQueue, type StatementQueue } from '../batching/queues.ts';
import { createLockedPlants } from './locked-plants.ts';

/** Enough time for another attempt. */
const pass = () => setTimeout(500);

const LOCK_TIMEOUT = 400;
const timeout = () => Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
const limits: BatchLimits = {
  batches: 4,
  batchItems: 1,
  batchBytes: 1000,
  gatherTime: 0,
  queueItems: 10,
  queueBytes: 100_000,
  deadline: 10_000,
};
const create = (own: Partial<BatchLimits> = {}, send: StatementQueue = ({ send }) => send()) =>
  createLockedPlants({
    send,
    limits: { ...limits, ...own },
    timeNeeded: 2 * LOCK_TIMEOUT,
  });
const STILL_LOCKED = 'Another transaction has locked the plant; nothing was changed. Try again later.';

test.each([
  [2 * LOCK_TIMEOUT, 0],
  [2 * LOCK_TIMEOUT + 1, 1],
  [2 * LOCK_TIMEOUT + 100, 1],
  [2 * LOCK_TIMEOUT + 101, 2],
])(
  'with %d ms left, makes %d attempts, so that the last has as long again as it waits for its lock',
  async (left, made) => {
    let attempts = 0;
    const write = {
      bytes: 0,
      timeLeft: () => left - 100 * attempts,
      send: async () => {
        attempts++;
        throw timeout();
      },
    };
    // The first attempt sees all of the time, and the pause before the second has passed.
    const first = { ...write, timeLeft: () => (attempts === 0 ? left : left - 100 * (attempts - 1)) };
    await expect(create().retry(1n, undefined, first)).rejects.toThrow(STILL_LOCKED);
    expect(attempts).toBe(made);
  },
);

test('tries one write of a plant at a time, in order, and those of others meanwhile', async () => {
  const locked = create();
  const sent: string[] = [];
  const attempts = new Map<string, PromiseWithResolvers<string>>();
  const retry = (id: bigint, name: string) =>
    locked.retry(id, Promise.reject(timeout()), {
      bytes: 0,
      timeLeft: () => 10_000,
      send: () => {
        sent.push(name);
        const attempt = Promise.withResolvers<string>();
        attempts.set(name, attempt);
        return attempt.promise;
      },
    });
  const outcomes = [retry(1n, 'a'), retry(1n, 'b'), retry(2n, 'c')];
  await pass();
  expect([sent, locked.count(), locked.has(1n)]).toEqual([['a', 'c'], 2, true]);
  attempts.get('a')?.reject(timeout());
  attempts.get('c')?.resolve('c');
  await pass();
  expect(sent).toEqual(['a', 'c', 'a']);
  attempts.get('a')?.resolve('a');
  await pass();
  // For another write waits for it.
  expect(locked.has(1n)).toBe(true);
  attempts.get('b')?.resolve('b');
  expect(await Promise.all(outcomes)).toEqual(['a', 'b', 'c']);
  expect([locked.count(), locked.has(1n)]).toEqual([0, false]);
});

test('each write is tried in the context of its request, so that its spans belong to it', async () => {
  const locked = create();
  const request = new AsyncLocalStorage<string>();
  const write = { bytes: 0, timeLeft: () => 10_000, send: async () => request.getStore() };
  const retry = (name: string) => request.run(name, () => locked.retry(1n, undefined, write));
  expect(await Promise.all(['a', 'b', 'c'].map(retry))).toEqual(['a', 'b', 'c']);
});

test('once a plant is free, its writes follow one another without pauses', async () => {
  const locked = create({ queueItems: 1000 });
  let isLocked = true;
  const write = { bytes: 0, timeLeft: () => 10_000, send: async () => (isLocked ? Promise.reject(timeout()) : 'done') };
  const outcomes = Array.from({ length: 400 }, () => locked.retry(1n, undefined, write));
  await pass();
  isLocked = false;
  const freeAt = performance.now();
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['done']));
  // One pause, of 100 ms, and not one for each.
  expect(performance.now() - freeAt).toBeLessThan(10_000);
});

test('limits the writes that wait', async () => {
  const locked = create({ queueItems: 3 });
  let isOver = false;
  const retry = (id: bigint) =>
    locked
      .retry(id, undefined, {
        bytes: 0,
        timeLeft: () => (isOver ? 0 : 10_000),
        send: () => Promise.reject(timeout()),
      })
      .catch(({ message }: Error) => message);
  const waiting = [retry(1n), retry(1n), retry(2n)];
  const TOO_MANY = 'Too many requests are waiting for locked plants; nothing was changed. Try again later.';
  expect([await retry(1n), await retry(3n)]).toEqual([TOO_MANY, TOO_MANY]);
  isOver = true;
  await Promise.all(waiting);
  expect(locked.count()).toBe(0);
  // What they took is free again.
  isOver = false;
  const others = [1n, 2n, 3n].map(retry);
  await pass();
  expect(locked.count()).toBe(3);
  isOver = true;
  await Promise.all(others);
});

test('another error of the first attempt, or its success, is the outcome', async () => {
  const write = { bytes: 0, timeLeft: () => 10_000, send: async () => 'again' };
  expect(await create().retry(1n, Promise.resolve('first'), write)).toBe('first');
  await expect(create().retry(1n, Promise.reject(new RangeError()), write)).rejects.toThrow(RangeError);
  expect(await create().retry(1n, Promise.reject(timeout()), write)).toBe('again');
});

test('while writes wait for many plants, a statement that was cancelled is tried again, because its short lock timeout may look so', async () => {
  const cancelled = Object.assign(new Error('canceling statement due to user request'), { code: '57014' });
  const locked = create({ batches: 1 });
  const write = { bytes: 0, timeLeft: () => 10_000, send: async () => 'again' };
  await expect(locked.retry(3n, Promise.reject(cancelled), write)).rejects.toBe(cancelled);
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = [1n, 2n].map((id) => locked.retry(id, undefined, { ...write, send: () => promise }));
  expect(await locked.retry(3n, Promise.reject(cancelled), write)).toBe('again');
  resolve('free');
  await Promise.all(waiting);
});

test('a write that was never sent before its deadline is 1500: its outcome is known', async () => {
  // Time passes only when the test says so.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const lateError = () => new Error('late');
    const attempts = createStatementQueue({ limits: { ...limits, batches: 1 }, lateError });
    const { promise: running, resolve: finish } = Promise.withResolvers<void>();
    const held = attempts({ send: () => running, bytes: 0, timeout: 10_000 });
    const timesLeft = [60];
    const write = { bytes: 0, timeLeft: () => timesLeft.shift() ?? 0, send: async () => {} };
    const outcome = create({}, attempts)
      .retry(1n, undefined, write)
      .catch(({ message }: Error) => message);
    while (timesLeft.length > 0) await setImmediate();
    jest.advanceTimersByTime(60);
    expect(await outcome).toContain('waited too long for the database');
    finish();
    await held;
  } finally {
    jest.useRealTimers();
  }
});
