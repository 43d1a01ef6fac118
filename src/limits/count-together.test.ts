import { expect, test } from '@jest/globals';
import { countTogether } from './count-together.ts';

/** Counters in memory, each of whose additions waits until it is let go. */
const createCounters = () => {
  const totals = new Map<string, number>();
  const additions: { key: string; requests: number; letGo: (error?: Error) => void }[] = [];
  const count = countTogether(
    (key, requests) =>
      new Promise((resolve, reject) => {
        const letGo = (error?: Error) => {
          if (error) return reject(error);
          totals.set(key, (totals.get(key) ?? 0) + requests);
          resolve({ requests: totals.get(key) ?? 0, endsIn: 1000 });
        };
        additions.push({ key, requests, letGo });
      }),
  );
  return { count, additions, sent: () => additions.map(({ key, requests }) => [key, requests]) };
};

/** All that is due is done. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('those that arrive while some are added are added together, each with its own place', async () => {
  const { count, additions, sent } = createCounters();
  const first = count('a');
  await settle();
  const others = [count('a'), count('a'), count('a')];
  await settle();
  expect(sent()).toEqual([['a', 1]]);
  additions[0]?.letGo();
  expect(await first).toEqual({ requests: 1, endsIn: 1000 });
  await settle();
  expect(sent()).toEqual([
    ['a', 1],
    ['a', 3],
  ]);
  additions[1]?.letGo();
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
  additions[1]?.letGo();
  expect(await b).toMatchObject({ requests: 1 });
});

test('a failure is that of those who were added, and the next ones are tried anew', async () => {
  const { count, additions } = createCounters();
  const first = count('a');
  await settle();
  const second = count('a');
  additions[0]?.letGo(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await settle();
  additions[1]?.letGo();
  expect(await second).toMatchObject({ requests: 1 });
});

test('many at random: every place is taken once', async () => {
  const totals = new Map<string, number>();
  const count = countTogether(async (key, requests) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    totals.set(key, (totals.get(key) ?? 0) + requests);
    return { requests: totals.get(key) ?? 0, endsIn: 0 };
  });
  const places = new Map<string, number[]>();
  const one = async (key: string) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
    const { requests } = await count(key);
    places.set(key, [...(places.get(key) ?? []), requests]);
  };
  await Promise.all(Array.from({ length: 900 }, (_, turn) => one(`key ${turn % 3}`)));
  const all = Array.from({ length: 300 }, (_, index) => index + 1);
  for (const found of places.values()) expect(found.toSorted((a, b) => a - b)).toEqual(all);
});
