import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { startDeletingExpiredAnswers } from './delete-expired-answers.ts';

const MINUTE = 60_000;

// The pauses between statements are real, because Jest does not replace the timers of node:timers/promises.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Starts with as many statements to do. */
const start = ({ isBusy = false, statements = 3 } = {}) => {
  const state = { isBusy, sent: 0, failures: [] as Error[] };
  const deleteExpired = jest.fn(async () => ++state.sent < statements);
  const stop = startDeletingExpiredAnswers({
    deleteExpired,
    lastRequestAt: () => (state.isBusy ? performance.now() : Number.NEGATIVE_INFINITY),
    onFailed: (error) => state.failures.push(error),
  });
  return { state, deleteExpired, stop };
};

test('looks once a minute', async () => {
  const { state } = start({ statements: 1 });
  await jest.advanceTimersByTimeAsync(MINUTE - 1);
  expect(state.sent).toBe(0);
  await jest.advanceTimersByTimeAsync(1);
  expect(state.sent).toBe(1);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.sent).toBe(2);
});

test('without requests, deletes all without a pause', async () => {
  const { state } = start();
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.sent).toBe(3);
});

test('pauses after each statement while requests arrive, and no longer once they stop', async () => {
  const { state } = start({ isBusy: true, statements: 20 });
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.sent).toBe(1);
  while (state.sent < 2) await setTimeout(5);
  expect(state.sent).toBe(2);
  state.isBusy = false;
  while (state.sent < 20) await setTimeout(5);
});

test('never has two statements in progress, however long one takes', async () => {
  const { deleteExpired } = start({ statements: 1 });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  deleteExpired.mockReturnValueOnce(promise);
  await jest.advanceTimersByTimeAsync(3 * MINUTE);
  expect(deleteExpired).toHaveBeenCalledTimes(1);
  resolve(false);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(deleteExpired).toHaveBeenCalledTimes(2);
});

test('reports a failure, and looks again', async () => {
  const { state, deleteExpired } = start();
  const error = new Error('no database');
  deleteExpired.mockRejectedValueOnce(error);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.failures).toEqual([error]);
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(state.sent).toBe(3);
});

test('ends once the statement in progress has ended, without another', async () => {
  const { deleteExpired, stop } = start();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  deleteExpired.mockReturnValueOnce(promise);
  await jest.advanceTimersByTimeAsync(MINUTE);
  let isStopped = false;
  const stopping = stop().then(() => {
    isStopped = true;
  });
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(isStopped).toBe(false);
  resolve(true);
  await stopping;
  expect(deleteExpired).toHaveBeenCalledTimes(1);
});
