import { expect, test } from '@jest/globals';
import { createBatchedCounter } from './batched-counter.ts';

/** Counters in memory. Each addition waits until the test releases it. */
const createCounters = () => {
  const totals = new Map<string, number>();
  const additions: { key: string; requests: number; release: (error?: Error) => void }[] = [];
  const count = createBatchedCounter(
    (key, requests) =>
      new Promise((resolve, reject) => {
        const release = (error?: Error) => {
          if (error) return reject(error);
          totals.set(key, (totals.get(key) ?? 0) + requests);
          resolve({ requests: totals.get(key) ?? 0, endsIn: 1000 });
        };
        additions.push({ key, requests, release });
      }),
  );
  return { count, additions, sent: () => additions.map(({ key, requests }) => [key, requests]) };
};

/** Waits until all callbacks that are due have run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('requests that arrive during an addition are added together, and each gets its own total', async () => {
  const { count, additions, sent } = createCounters();
  const first = count('a');
  await settle();
  const others = [count('a'), count('a'), count('a')];
  await settle();
  expect(sent()).toEqual([['a', 1]]);
  additions[0]?.release();
  expect(await first).toEqual({ requests: 1, endsIn: 1000 });
  await settle();
  expect(sent()).toEqual([
    ['a', 1],
    ['a', 3],
  ]);
  additions[1]?.release();
  expect((await Promise.all(others)).map(({ requests }) => requests)).toEqual([2, 3, 4]);
});

test('keys do not wait for each other', async () => {
  const { count, additions, sent } = createCounters();
  const [, b] = [count('a'), count('b')];
  await settle();
  expect(sent()).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  additions[1]?.release();
  expect(await b).toMatchObject({ requests: 1 });
});

test('a failed addition fails only its own requests, and the next one still runs', async () => {
  const { count, additions } = createCounters();
  const first = count('a');
  await settle();
  const second = count('a');
  additions[0]?.release(new Error('unreachable'));
  await expect(first).rejects.toThrow('unreachable');
  await settle();
  additions[1]?.release();
  expect(await second).toMatchObject({ requests: 1 });
});

test('with many requests at random times, each total occurs once', async () => {
  const totals = new Map<string, number>();
  const count = createBatchedCounter(async (key, requests) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    totals.set(key, (totals.get(key) ?? 0) + requests);
    return { requests: totals.get(key) ?? 0, endsIn: 0 };
  });
  const totalsByKey = new Map<string, number[]>();
  const one = async (key: string) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
    const { requests } = await count(key);
    totalsByKey.set(key, [...(totalsByKey.get(key) ?? []), requests]);
  };
  await Promise.all(Array.from({ length: 900 }, (_, turn) => one(`key ${turn % 3}`)));
  const all = Array.from({ length: 300 }, (_, index) => index + 1);
  for (const found of totalsByKey.values()) expect(found.toSorted((a, b) => a - b)).toEqual(all);
});
