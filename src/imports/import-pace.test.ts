import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { PlantIdTakenError } from '../plants/plant-errors.ts';
import type { PlantRow } from './import.ts';
import { createImportPace } from './import-pace.ts';
import type { RowOutcome } from './import-tally.ts';

const rows = (count: number): PlantRow[] =>
  Array.from({ length: count }, (_, index) => ({ line: index + 1, plant: { id: BigInt(index), name: 'Fir' } }));

/** Records the stored rows and the maximum number of concurrent statements. */
const createStore = (outcomeOf: (row: PlantRow) => RowOutcome = () => undefined) => {
  const sent: number[] = [];
  const state = { underWay: 0, most: 0 };
  const store = async (part: PlantRow[]) => {
    sent.push(part.length);
    state.most = Math.max(state.most, ++state.underWay);
    await setTimeout(5);
    state.underWay--;
    return part.map(outcomeOf);
  };
  return { sent, state, store };
};

const busy = { lastRequestAt: () => performance.now() };

describe('createImportPace', () => {
  test('stores whole chunks without single requests', async () => {
    const { sent, store } = createStore();
    const pace = createImportPace({ lastRequestAt: () => Number.NEGATIVE_INFINITY });
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => pace(rows(2000), store)));
    expect(sent).toEqual([2000, 2000, 2000, 2000]);
    expect(outcomes.map(({ length }) => length)).toEqual([2000, 2000, 2000, 2000]);
  });

  test('stores 100 rows at a time during single requests, and whole chunks after them', async () => {
    let busyUntil = performance.now() + 60_000;
    const { sent, store } = createStore(({ line }) => {
      if (line === 1000) busyUntil = 0;
      return line % 2 ? undefined : new PlantIdTakenError(0n);
    });
    const pace = createImportPace({ lastRequestAt: () => Math.min(performance.now(), busyUntil) });
    const outcomes = await pace(rows(1900), store);
    expect(sent).toEqual([...Array(10).fill(100), 900]);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(950);
  });

  test('during single requests, all imports together pause seven times as long as they store', async () => {
    const { sent, state, store } = createStore();
    const pace = createImportPace(busy);
    await pace(rows(100), store);
    const startedAt = performance.now();
    await Promise.all([1, 2, 3, 4].map(() => pace(rows(200), store)));
    // The eight statements begin 40 ms after each other.
    expect(performance.now() - startedAt).toBeGreaterThan(7 * 40);
    expect([sent.length, state.most]).toEqual([9, 1]);
  });

  test('an import whose statement waits for a lock delays no other', async () => {
    const pace = createImportPace(busy);
    const { sent, store } = createStore();
    const blocked = pace(rows(1), () => new Promise(() => {}));
    const isBlocked = Promise.race([blocked, setTimeout(1000, 'blocked')]);
    await pace(rows(500), store);
    expect(sent).toEqual([100, 100, 100, 100, 100]);
    expect(await isBlocked).toBe('blocked');
  });

  test('stops when the database connection is lost', async () => {
    const lost = new Error('lost');
    const { sent, store } = createStore(({ line }) => (line > 100 ? lost : undefined));
    const outcomes = await createImportPace(busy)(rows(2000), store);
    expect(sent).toEqual([100, 100]);
    expect(outcomes.map((outcome) => outcome === lost)).toEqual(rows(2000).map(({ line }) => line > 100));
  });
});
