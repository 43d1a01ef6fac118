import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createSearchIndex } from './search-index.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A search index whose merges last until the test ends them. */
const start = () => {
  const merges: PromiseWithResolvers<unknown>[] = [];
  const onMergeFailed = jest.fn();
  const query = () => {
    const merge = Promise.withResolvers<unknown>();
    merges.push(merge);
    return merge.promise;
  };
  const database = { query } as unknown as Parameters<typeof createSearchIndex>[0]['database'];
  return { ...createSearchIndex({ database, onMergeFailed }), merges, onMergeFailed };
};

test('names are merged once within four seconds, however many were stored', async () => {
  const { noteNewNames, merges } = start();
  for (let count = 0; count < 1000; count++) noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  expect(merges).toHaveLength(1);
  merges[0]?.resolve([]);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(1);
});

test('names stored during a merge are merged after it', async () => {
  const { noteNewNames, merges } = start();
  noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  noteNewNames();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(1);
  merges[0]?.resolve([]);
  await jest.advanceTimersByTimeAsync(4000);
  expect(merges).toHaveLength(2);
});

test('an import postpones the next merge until it pauses', async () => {
  const { noteNewNames, postpone, merges } = start();
  noteNewNames();
  for (let count = 0; count < 10; count++) {
    await jest.advanceTimersByTimeAsync(3000);
    postpone();
  }
  expect(merges).toHaveLength(0);
  await jest.advanceTimersByTimeAsync(4000);
  expect(merges).toHaveLength(1);
});

test('an import starts no merge, neither on its own nor beside one in progress', async () => {
  const { noteNewNames, postpone, merges } = start();
  postpone();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(0);
  noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  postpone();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(1);
});

test('a merge that fails is reported, and the next names are merged again', async () => {
  const { noteNewNames, merges, onMergeFailed } = start();
  noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  const error = new Error('permission denied');
  merges[0]?.reject(error);
  await jest.advanceTimersByTimeAsync(4000);
  expect(onMergeFailed.mock.calls).toEqual([[error]]);
  noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  expect(merges).toHaveLength(2);
});

test('stopping prevents further merges, and the one in progress may fail', async () => {
  const { noteNewNames, postpone, stop, merges, onMergeFailed } = start();
  noteNewNames();
  await jest.advanceTimersByTimeAsync(4000);
  noteNewNames();
  stop();
  merges[0]?.reject(new Error('Connection terminated'));
  noteNewNames();
  postpone();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(1);
  expect(onMergeFailed).not.toHaveBeenCalled();
});

test('stopping cancels the next merge', async () => {
  const { noteNewNames, postpone, stop, merges } = start();
  noteNewNames();
  stop();
  postpone();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(merges).toHaveLength(0);
});
