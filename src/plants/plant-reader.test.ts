import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { BatchLimits } from '../batching/batch-queue.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import type { StoredPlant } from './plant.ts';
import { createPlantReader } from './plant-reader.ts';

const limits: BatchLimits = {
  batches: 2,
  batchItems: 64,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 1000,
  queueBytes: 1_000_000,
  deadline: 10_000,
};

/** Enough turns of the event loop for everything in these tests. */
const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
};

/** Plants with ids below 100 are short, those below 200 are long, and others do not exist. */
const start = () => {
  const shared: bigint[][] = [];
  const long: { id: bigint; end: () => void }[] = [];
  const find = createPlantReader({
    lateError: () => new Error('late'),
    repository: {
      findByIds: async (ids) => {
        shared.push(ids);
        const found = ids.filter((id) => id < 200n);
        return new Map(found.map((id) => [id, id < 100n ? { id, name: 'short' } : undefined]));
      },
      findLong: (id) =>
        new Promise((resolve) =>
          long.push({ id, end: () => resolve(id === 150n ? undefined : { id, name: 'long', tag: undefined }) }),
        ),
    },
    limits,
    longReads: createStatementQueue({ limits, lateError: () => new RangeError() }),
  });
  const outcome = (found: Promise<StoredPlant>) =>
    found.then(
      ({ id, name }) => `${id} ${name}`,
      ({ name }) => name,
    );
  return { find, outcome, shared, long };
};

test('reads each long plant in its own statement, with limited concurrency, and each id once per batch', async () => {
  const { find, outcome, shared, long } = start();
  const ids = [1n, 101n, 1n, 102n, 101n, 103n, 104n, 101n, 300n];
  const outcomes = Promise.all(ids.map((id) => outcome(find(id))));
  await turns();
  expect(shared).toEqual([[1n, 101n, 102n, 103n, 104n, 300n]]);
  expect(long.map(({ id }) => id)).toEqual([101n, 102n]);
  long[0]?.end();
  await turns();
  expect(long.map(({ id }) => id)).toEqual([101n, 102n, 103n]);
  for (let index = 1; index < 4; index++) {
    long[index]?.end();
    await turns();
  }
  expect(await outcomes).toEqual([
    '1 short',
    '101 long',
    '1 short',
    '102 long',
    '101 long',
    '103 long',
    '104 long',
    '101 long',
    'PlantUnknownError',
  ]);
});

test('reads a long plant again for a request that arrives during the read, because it may have changed', async () => {
  const { find, outcome, long } = start();
  const outcomes = [outcome(find(101n))];
  await turns();
  outcomes.push(outcome(find(101n)));
  await turns();
  expect(long).toHaveLength(2);
  for (const { end } of long) end();
  expect(await Promise.all(outcomes)).toEqual(['101 long', '101 long']);
});

test('a long plant that is deleted between the two reads is unknown', async () => {
  const { find, outcome, long } = start();
  const found = outcome(find(150n));
  await turns();
  long[0]?.end();
  expect(await found).toBe('PlantUnknownError');
});

test('skips a long plant if all its clients have disconnected, and reads it if one is still waiting', async () => {
  const { find, outcome, long } = start();
  let disconnected = false;
  const outcomes = [101n, 102n, 103n, 104n, 104n].map((id, index) =>
    outcome(find(id, () => disconnected && index !== 4)),
  );
  await turns();
  disconnected = true;
  for (let index = 0; index < 3; index++) {
    long[index]?.end();
    await turns();
  }
  expect(long.map(({ id }) => id)).toEqual([101n, 102n, 104n]);
  expect(await Promise.all(outcomes)).toEqual(['101 long', '102 long', 'OverloadedError', '104 long', '104 long']);
});

test('the read of a long plant has the remaining time of its request', async () => {
  const { find, outcome, long } = start();
  expect(await outcome(find(101n, undefined, 50))).toBe('RangeError');
  long[0]?.end();
});

test('requests that share the read of a long plant give it the time of the one that has the most left', async () => {
  const { find, outcome, long } = start();
  const outcomes = [outcome(find(101n, undefined, 50)), outcome(find(101n))];
  await setTimeout(100);
  for (const { end } of long) end();
  expect(await Promise.all(outcomes)).toEqual(['101 long', '101 long']);
});
