import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Prisma } from '../generated/prisma/client.ts';
import type { Database } from './database.ts';
import { startSweeping } from './sweep.ts';

const MINUTE = 60_000;
const AT_ONCE = 1000;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Starts with rows for as many statements. */
const start = ({ statements = 3 } = {}) => {
  const state = { left: statements, failures: [] as Error[] };
  const $executeRaw = jest.fn(async (): Promise<number> => (--state.left > 0 ? AT_ONCE : 0));
  const stop = startSweeping({
    database: { $executeRaw } as unknown as Database,
    rows: [{ name: 'rows', table: 'rows', selection: Prisma.sql`TRUE` }],
    interval: MINUTE,
    onFailed: (error) => state.failures.push(error),
  });
  return { state, $executeRaw, stop };
};

test('deletes until no rows are left, with pauses, and looks again after an interval', async () => {
  const { state, $executeRaw } = start();
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect($executeRaw).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(1000);
  expect([$executeRaw.mock.calls.length, state.left]).toEqual([3, 0]);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect($executeRaw).toHaveBeenCalledTimes(4);
});

test('never has two statements in progress, however long one takes', async () => {
  const { $executeRaw } = start({ statements: 1 });
  const { promise, resolve } = Promise.withResolvers<number>();
  $executeRaw.mockReturnValueOnce(promise);
  await jest.advanceTimersByTimeAsync(3 * MINUTE);
  expect($executeRaw).toHaveBeenCalledTimes(1);
  resolve(0);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect($executeRaw).toHaveBeenCalledTimes(2);
});

test('reports a failure, and looks again', async () => {
  const { state, $executeRaw } = start();
  const error = new Error('no database');
  $executeRaw.mockRejectedValueOnce(error);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.failures).toEqual([error]);
  await jest.advanceTimersByTimeAsync(MINUTE + 1000);
  expect(state.left).toBe(0);
});

test('once it has ended, sends no other statement, and does not report the failure of that in progress', async () => {
  for (const end of ['resolve', 'reject'] as const) {
    const { state, $executeRaw, stop } = start();
    const statement = Promise.withResolvers<number>();
    $executeRaw.mockReturnValueOnce(statement.promise);
    await jest.advanceTimersByTimeAsync(MINUTE);
    stop();
    if (end === 'resolve') statement.resolve(AT_ONCE);
    else statement.reject(new Error('the connection was closed'));
    await jest.advanceTimersByTimeAsync(3 * MINUTE);
    expect([$executeRaw.mock.calls.length, state.failures]).toEqual([1, []]);
  }
});
