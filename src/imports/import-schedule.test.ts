import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../config/config.ts';
import { PlantIdTakenError } from '../plants/plant-errors.ts';
import { limitRequests } from '../request-limits.ts';
import type { StoreRows } from './import-lanes.ts';
import { createImportSchedule } from './import-schedule.ts';
import type { PlantRow, RowOutcome } from './import-tally.ts';

const { chunks: limits } = limitRequests(readConfig({})).imports;

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

const create = (options: Omit<Parameters<typeof createImportSchedule>[0], 'limits'>) => {
  const schedule = createImportSchedule({ limits, ...options });
  return (part: PlantRow[], store: StoreRows, isTransaction = false) => schedule(part, store, { isTransaction });
};

describe('createImportSchedule', () => {
  test('stores whole chunks, two at a time, without single requests', async () => {
    const { sent, state, store } = createStore();
    const schedule = create({ lastRequestAt: () => Number.NEGATIVE_INFINITY });
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => schedule(rows(2000), store)));
    expect([sent, state.most]).toEqual([[2000, 2000, 2000, 2000], 2]);
    expect(outcomes.map(({ length }) => length)).toEqual([2000, 2000, 2000, 2000]);
  });

  test('stores 100 rows at a time during single requests, and whole chunks after them', async () => {
    let busyUntil = performance.now() + 60_000;
    const { sent, state, store } = createStore(({ line }) => {
      if (line === 1000) busyUntil = 0;
      return line % 2 ? undefined : new PlantIdTakenError(0n);
    });
    const schedule = create({ lastRequestAt: () => Math.min(performance.now(), busyUntil) });
    const outcomes = await Promise.all([schedule(rows(1900), store), schedule(rows(100), store)]);
    expect(sent).toEqual([100, 100, ...Array(9).fill(100), 900]);
    expect(state.most).toBe(1);
    expect(outcomes.flat().filter((outcome) => outcome === undefined)).toHaveLength(1000);
  });

  test('does not pause within a transaction', async () => {
    const { sent, store } = createStore();
    await create({ lastRequestAt: () => performance.now() })(rows(2000), store, true);
    expect(sent).toEqual([2000]);
  });

  test('stops when the database connection is lost', async () => {
    const lost = new Error('lost');
    const { sent, store } = createStore(({ line }) => (line > 100 ? lost : undefined));
    const schedule = create({ lastRequestAt: () => performance.now() });
    const outcomes = await schedule(rows(2000), store);
    expect(sent).toEqual([100, 100]);
    expect(outcomes.map((outcome) => outcome === lost)).toEqual(rows(2000).map(({ line }) => line > 100));
  });
});
