import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createGroupCommit, type GroupCommitLimits } from './group-commit.ts';
import type { NewPlant } from './plant.ts';
import type { Outcome } from './store-batch.ts';

const limits: GroupCommitLimits = {
  batches: 1,
  batchPlants: 100,
  batchBytes: 1_000_000,
  queuePlants: 1000,
  queueBytes: 1_000_000,
  deadline: 10_000,
};

/** As many turns of the event loop as anything here takes. */
const turn = async () => {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
};

/** Ends what the test left under way, with its timers. */
let endAll: () => Promise<void>;
afterEach(() => endAll());

/** A group commit whose batches end when the test says so. */
const start = (overrides: Partial<GroupCommitLimits> = {}) => {
  const batches: { ids: number[]; end: (outcomes?: Outcome[]) => void }[] = [];
  const store = (plants: NewPlant[]) =>
    new Promise<Outcome[]>((resolve) => {
      const end = (outcomes: Outcome[] = plants.map(() => undefined)) => resolve(outcomes);
      batches.push({ ids: plants.map(({ id }) => Number(id)), end });
    });
  const { create } = createGroupCommit({ store, limits: { ...limits, ...overrides } });
  const sent = () => batches.map(({ ids }) => ids);
  endAll = async () => {
    await turn();
    for (let index = 0; index < batches.length; index++) {
      batches[index]?.end();
      await turn();
    }
  };
  return {
    sent,
    create: (id: number, name = '', isAbandoned?: () => boolean) =>
      create({ id: BigInt(id), name }, isAbandoned).then(
        () => 'stored',
        (error: Error) => error.name,
      ),
    end: async (index: number, outcomes?: Outcome[]) => {
      batches[index]?.end(outcomes);
      await turn();
    },
  };
};

describe('createGroupCommit', () => {
  test('sends a lone plant at once, and those that arrive meanwhile together', async () => {
    const { create, sent, end } = start();
    const results = [create(1)];
    await turn();
    expect(sent()).toEqual([[1]]);
    results.push(create(2), create(3));
    await turn();
    results.push(create(4));
    expect(sent()).toEqual([[1]]);
    await end(0);
    expect(sent()).toEqual([[1], [2, 3, 4]]);
    await end(1);
    expect(await Promise.all(results)).toEqual(['stored', 'stored', 'stored', 'stored']);
  });

  test('gives each plant its own outcome', async () => {
    const { create, end } = start();
    const results = [create(1), create(2), create(3)];
    await turn();
    await end(0, [undefined, new RangeError(), undefined]);
    expect(await Promise.all(results)).toEqual(['stored', 'RangeError', 'stored']);
  });

  test('has as many batches under way as it may, of no more plants and bytes than they may have', async () => {
    const { create, sent, end } = start({ batches: 2, batchPlants: 2, batchBytes: 3000 });
    for (const id of [1, 2, 3, 4, 5]) create(id);
    create(6, 'x'.repeat(2000));
    create(7);
    await turn();
    expect(sent()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    await end(1);
    expect(sent()[2]).toEqual([5]);
    await end(0);
    expect(sent()[3]).toEqual([6]);
    await end(2);
    expect(sent()[4]).toEqual([7]);
  });

  test('refuses at once what is too much to wait, and takes on again when there is room', async () => {
    const { create, end } = start({ queuePlants: 2 });
    create(1);
    await turn();
    create(2);
    create(3);
    expect(await create(4)).toBe('OverloadedError');
    await end(0);
    const later = create(5);
    await end(1);
    await end(2);
    expect(await later).toBe('stored');
  });

  test('counts the bytes that wait', async () => {
    const { create } = start({ queueBytes: 10_000 });
    create(1, 'x'.repeat(4000));
    expect(await create(2, 'x'.repeat(4000))).toBe('OverloadedError');
  });

  test('drops a plant whose client went away before it left, and keeps one that has left', async () => {
    const { create, sent, end } = start();
    let gone = false;
    const left = create(1, '', () => gone);
    await turn();
    const waiting = create(2, '', () => gone);
    const patient = create(3);
    gone = true;
    await end(0);
    await end(1);
    expect(sent()).toEqual([[1], [3]]);
    expect(await Promise.all([left, waiting, patient])).toEqual(['stored', 'OverloadedError', 'stored']);
  });

  test('lets nothing wait longer than the deadline, sent or not, and does not send what gave up', async () => {
    const { create, sent, end } = start({ deadline: 30 });
    const results = [create(1)];
    await turn();
    results.push(create(2));
    expect(await Promise.all(results)).toEqual(['OutcomeUnknownError', 'OverloadedError']);
    const later = create(3);
    await end(0);
    await end(1);
    expect(await later).toBe('stored');
    expect(sent()).toEqual([[1], [3]]);
  });
});
