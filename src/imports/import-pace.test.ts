import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { idTaken } from '../plants/plant.ts';
import type { PlantRow } from './import.ts';
import type { RowOutcome } from './import-tally.ts';

const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
// Jest replaces the global timers only.
jest.unstable_mockModule('node:timers/promises', () => ({ setTimeout: sleep }));
const { createImportPace } = await import('./import-pace.ts');

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Runs the clock until a promise is settled. */
const finish = async <Result>(promise: Promise<Result>): Promise<Result> => {
  await jest.runAllTimersAsync();
  return promise;
};

const rows = (count: number): PlantRow[] =>
  Array.from({ length: count }, (_, index) => ({ line: index + 1, plant: { id: BigInt(index), name: 'Fir' } }));

/** Records the stored rows and when each statement begins, in ms; it takes 5 ms. */
const createStore = (outcomeOf: (row: PlantRow) => RowOutcome = () => undefined) => {
  const sent: number[] = [];
  const startedAt: number[] = [];
  const store = async (part: PlantRow[]) => {
    sent.push(part.length);
    startedAt.push(performance.now());
    await sleep(5);
    return part.map(outcomeOf);
  };
  return { sent, startedAt, store };
};

const busy = { lastRequestAt: () => performance.now() };

describe('createImportPace', () => {
  test('stores whole chunks without single requests', async () => {
    const { sent, store } = createStore();
    const pace = createImportPace({ lastRequestAt: () => Number.NEGATIVE_INFINITY });
    const outcomes = await finish(Promise.all([1, 2, 3, 4].map(() => pace(rows(2000), store))));
    expect(sent).toEqual([2000, 2000, 2000, 2000]);
    expect(outcomes.map(({ length }) => length)).toEqual([2000, 2000, 2000, 2000]);
  });

  test('stores 100 rows at a time during single requests, and whole chunks after them', async () => {
    let busyUntil = Number.POSITIVE_INFINITY;
    const { sent, store } = createStore(({ line }) => {
      if (line === 1000) busyUntil = Number.NEGATIVE_INFINITY;
      return line % 2 ? undefined : idTaken(0n);
    });
    const pace = createImportPace({ lastRequestAt: () => Math.min(performance.now(), busyUntil) });
    const outcomes = await finish(pace(rows(1900), store));
    expect(sent).toEqual([...Array(10).fill(100), 900]);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(950);
  });

  test('during single requests, all imports together pause seven times as long as they store', async () => {
    const { startedAt, store } = createStore();
    const pace = createImportPace(busy);
    await finish(pace(rows(100), store));
    startedAt.length = 0;
    await finish(Promise.all([1, 2, 3, 4].map(() => pace(rows(200), store))));
    const [first = 0] = startedAt;
    expect(startedAt.map((time) => time - first)).toEqual([0, 40, 80, 120, 160, 200, 240, 280]);
  });

  test('an import whose statement waits for a lock delays no other', async () => {
    const pace = createImportPace(busy);
    const { sent, store } = createStore();
    pace(rows(1), () => new Promise(() => {}));
    await finish(pace(rows(500), store));
    expect(sent).toEqual([100, 100, 100, 100, 100]);
  });

  test('stops when the database connection is lost', async () => {
    const lost = new Error('lost');
    const { sent, store } = createStore(({ line }) => (line > 100 ? lost : undefined));
    const outcomes = await finish(createImportPace(busy)(rows(2000), store));
    expect(sent).toEqual([100, 100]);
    expect(outcomes.map((outcome) => outcome === lost)).toEqual(rows(2000).map(({ line }) => line > 100));
  });
});
