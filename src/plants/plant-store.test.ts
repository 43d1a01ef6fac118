import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../config.ts';
import { limitRequests } from '../request-limits.ts';
import type { BatchLimits } from './batch-queue.ts';
import type { PlantRepository } from './plant-repository.ts';
import { createPlantStore, type PlantStore } from './plant-store.ts';
import type { ObservedQueue } from './queue-observer.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 10,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 10,
  queueBytes: 1_000_000,
  deadline: 1800,
};

const queues = ['writes', 'reads', 'pages', 'longReads', 'searches', 'changes'] as const;

/** A store on a repository that does what is given. */
const createStore = (
  repository: object,
  overrides: Partial<BatchLimits> = {},
  observed: Map<string, ObservedQueue> = new Map(),
) =>
  createPlantStore({
    observeQueue: (name, queue) => {
      observed.set(name, queue);
      return undefined;
    },
    repository: repository as PlantRepository,
    limits: Object.fromEntries(queues.map((name) => [name, { ...limits, ...overrides }])) as Record<
      (typeof queues)[number],
      BatchLimits
    >,
  });

const timed = async (promise: Promise<unknown>) => {
  const startedAt = performance.now();
  const outcome = await promise.catch((error: Error) => error.name);
  return { outcome, duration: performance.now() - startedAt };
};

test('a page that is asked for twice, as it has a long plant, has the time of one', async () => {
  const asked: string[] = [];
  const answered = Promise.withResolvers<void>();
  const store = createStore({
    list: async () => {
      asked.push('list');
      await setTimeout(900);
      return [undefined];
    },
    search: async () => {
      asked.push('search');
      await answered.promise;
      return { json: '[]', lastId: null, hasNext: false, isCut: false };
    },
  });
  const { outcome, duration } = await timed(store.list({ limit: 10 }));
  expect(outcome).toBe('DatabaseTimeoutError');
  expect(duration).toBeLessThan(limits.deadline + 500);
  expect(asked).toEqual(['list', 'search']);
  answered.resolve();
});

test.each(['update', 'delete'] as const)(
  '%s with a condition has one deadline for reading and writing',
  async (name) => {
    const answered = Promise.withResolvers<void>();
    const store = createStore(
      {
        findByIds: async ([id]: bigint[]) => {
          await setTimeout(700);
          return new Map([[id, { id, name: 'Fir' }]]);
        },
        update: () => answered.promise,
        delete: () => answered.promise,
      },
      { deadline: 1000 },
    );
    const change = name === 'update' ? store.update(1n, {}, () => true) : store.delete(1n, () => true);
    const { outcome, duration } = await timed(change);
    expect(outcome).toBe('OutcomeUnknownError');
    expect(duration).toBeLessThan(1500);
    answered.resolve();
  },
);

test('a change that reads again, as others were first, has one deadline for all its reads', async () => {
  let reads = 0;
  const store = createStore(
    {
      findByIds: async () => {
        reads++;
        if (reads > 1) await setTimeout(2000);
        return new Map([[1n, { id: 1n, name: 'Fir' }]]);
      },
      update: () => setTimeout(600),
    },
    { deadline: 1000 },
  );
  const { outcome, duration } = await timed(store.update(1n, {}, () => true));
  expect(outcome).toBe('DatabaseTimeoutError');
  expect(duration).toBeLessThan(1500);
});

test('a change that loses to others until its deadline is refused, and not sent after it', async () => {
  let changes = 0;
  const store = createStore(
    {
      findByIds: async ([id]: bigint[]) => new Map([[id, { id, name: 'Fir' }]]),
      update: async () => {
        changes++;
        await setTimeout(20);
      },
    },
    { deadline: 200 },
  );
  const { outcome, duration } = await timed(store.update(1n, { name: 'Yew' }, () => true));
  expect(['OverloadedError', 'OutcomeUnknownError']).toContain(outcome);
  expect(duration).toBeLessThan(1000);
  expect(changes).toBeGreaterThan(1);
});

describe('what waits counts with its bytes', () => {
  const long = 'x'.repeat(10_000);
  const never = new Promise<never>(() => {});
  const plant = { id: 1n, name: long, tag: long };
  const cases: [string, string, (store: PlantStore) => Promise<unknown>, number][] = [
    ['a plant to be stored', 'writes', (store) => store.create(plant, () => false), 40_000],
    ['a change', 'changes', (store) => store.update(1n, { name: long, tag: long }), 40_000],
    ['a change that removes', 'changes', (store) => store.update(1n, { name: long, tag: null }), 20_000],
    ['a change of a long plant', 'changes', (store) => store.update(1n, { name: 'Fir' }, () => true), 40_006],
    ['deleting a long plant', 'changes', (store) => store.delete(1n, () => true), 40_000],
    ['a search', 'searches', (store) => store.list({ limit: 1000, tag: long, nameContains: long }), 40_000],
    ['a page', 'pages', (store) => store.list({ limit: 1000 }), 0],
  ];
  test.each(cases)('%s', async (_title, name, request, bytes) => {
    const observed = new Map<string, ObservedQueue>();
    const store = createStore(
      {
        findByIds: async () => new Map([[1n, plant]]),
        ...{ insert: () => never, update: () => never, delete: () => never, search: () => never, list: () => never },
      },
      { deadline: 1000, batchItems: 1 },
      observed,
    );
    // The first leaves, and the second waits for it.
    const outcomes = [1, 2].map(() => request(store).catch((error: Error) => error.name));
    const queue = observed.get(name);
    while (queue?.length() !== 1) await setImmediate();
    // An item takes 500 bytes of its own.
    expect(queue.bytes()).toBe(500 + bytes);
    await Promise.all(outcomes);
  });
});

test('as many pages may wait as the queue says, however long they are', async () => {
  const answered = Promise.withResolvers<void>();
  const observed = new Map<string, ObservedQueue>();
  const store = createPlantStore({
    repository: { list: (pages: unknown[]) => answered.promise.then(() => pages.map(() => ({ json: '[]' }))) } as never,
    limits: limitRequests(readConfig({ QUEUE_LIMIT: '2000' })),
    observeQueue: (name, queue) => {
      observed.set(name, queue);
      return undefined;
    },
  });
  const list = () =>
    store.list({ limit: 1000 }).then(
      () => 'done',
      (error: Error) => error.name,
    );
  const first = [list(), list()];
  // Until they have left.
  while (observed.get('pages')?.length()) await setTimeout(1);
  const waiting = Array.from({ length: 2001 }, list);
  expect(observed.get('pages')).toMatchObject({ limit: 2000 });
  expect(observed.get('pages')?.length()).toBe(2000);
  answered.resolve();
  const outcomes = await Promise.all([...first, ...waiting]);
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(2002);
  expect(outcomes.at(-1)).toBe('OverloadedError');
});
