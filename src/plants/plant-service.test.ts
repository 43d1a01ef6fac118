import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { BatchLimits } from '../batching/batch-queue.ts';
import type { ObservedQueue } from '../batching/queue-observer.ts';
import { readConfig } from '../config/config.ts';
import { limitRequests } from '../request-limits.ts';
import type { PlantRepository } from './plant-repository.ts';
import { createPlantService, type PlantService } from './plant-service.ts';

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

/** A service with a fake repository. */
const createService = (
  repository: object,
  overrides: Partial<BatchLimits> = {},
  observed: Map<string, ObservedQueue> = new Map(),
) =>
  createPlantService({
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

test('a page that is read twice, because it has a long plant, has one deadline', async () => {
  const calls: string[] = [];
  const unblocked = Promise.withResolvers<void>();
  const service = createService({
    list: async () => {
      calls.push('list');
      await setTimeout(900);
      return [undefined];
    },
    search: async () => {
      calls.push('search');
      await unblocked.promise;
      return { ids: [], names: [], tags: [], hasNext: false, isCut: false };
    },
  });
  const { outcome, duration } = await timed(service.list({ limit: 10 }));
  expect(outcome).toBe('DatabaseTimeoutError');
  expect(duration).toBeLessThan(limits.deadline + 500);
  expect(calls).toEqual(['list', 'search']);
  unblocked.resolve();
});

test.each(['update', 'delete'] as const)(
  '%s with a condition has one deadline for reading and writing',
  async (name) => {
    const unblocked = Promise.withResolvers<void>();
    const service = createService(
      {
        findByIds: async ([id]: bigint[]) => {
          await setTimeout(700);
          return new Map([[id, { id, name: 'Fir' }]]);
        },
        update: () => unblocked.promise,
        delete: () => unblocked.promise,
      },
      { deadline: 1000 },
    );
    const change = name === 'update' ? service.update(1n, {}, () => true) : service.delete(1n, () => true);
    const { outcome, duration } = await timed(change);
    expect(outcome).toBe('OutcomeUnknownError');
    expect(duration).toBeLessThan(1500);
    unblocked.resolve();
  },
);

test('a change that has to read again after a concurrent change has one deadline for all reads', async () => {
  let reads = 0;
  const answered = Promise.withResolvers<void>();
  const service = createService(
    {
      findByIds: async () => {
        reads++;
        if (reads > 1) await answered.promise;
        return new Map([[1n, { id: 1n, name: 'Fir' }]]);
      },
      update: () => setTimeout(600),
    },
    { deadline: 1000 },
  );
  const { outcome, duration } = await timed(service.update(1n, {}, () => true));
  expect(outcome).toBe('DatabaseTimeoutError');
  expect(duration).toBeLessThan(1500);
  answered.resolve();
});

test('a change that conflicts with others until its deadline fails, and is not sent afterwards', async () => {
  let changes = 0;
  const service = createService(
    {
      findByIds: async ([id]: bigint[]) => new Map([[id, { id, name: 'Fir' }]]),
      update: async () => {
        changes++;
        await setTimeout(20);
      },
    },
    { deadline: 200 },
  );
  const { outcome, duration } = await timed(service.update(1n, { name: 'Yew' }, () => true));
  expect(['OverloadedError', 'OutcomeUnknownError']).toContain(outcome);
  expect(duration).toBeLessThan(1000);
  expect(changes).toBeGreaterThan(1);
});

describe('bytes of a waiting request', () => {
  const long = 'x'.repeat(10_000);
  const plant = { id: 1n, name: long, tag: long };
  const cases: [string, string, (service: PlantService) => Promise<unknown>, number][] = [
    ['create a plant', 'writes', (service) => service.create(plant, () => false), 40_000],
    ['change a plant', 'changes', (service) => service.update(1n, { name: long, tag: long }), 40_000],
    ['remove the tag', 'changes', (service) => service.update(1n, { name: long, tag: null }), 20_000],
    [
      'change a long plant conditionally',
      'changes',
      (service) => service.update(1n, { name: 'Fir' }, () => true),
      40_006,
    ],
    ['delete a long plant conditionally', 'changes', (service) => service.delete(1n, () => true), 40_000],
    ['search', 'searches', (service) => service.list({ limit: 1000, tag: long, nameContains: long }), 40_000],
    ['list a page', 'pages', (service) => service.list({ limit: 1000 }), 0],
  ];
  test.each(cases)('%s', async (_title, name, request, bytes) => {
    const observed = new Map<string, ObservedQueue>();
    const ended = Promise.withResolvers<never>();
    const wait = () => ended.promise;
    const service = createService(
      {
        findByIds: async () => new Map([[1n, plant]]),
        ...{ create: wait, update: wait, delete: wait, search: wait, list: wait },
      },
      { batchItems: 1 },
      observed,
    );
    // The first is sent, and the second waits for it.
    const outcomes = [1, 2].map(() => request(service).catch((error: Error) => error.name));
    const queue = observed.get(name);
    while (queue?.length() !== 1) await setImmediate();
    // Each item takes 500 bytes itself.
    expect(queue.bytes()).toBe(500 + bytes);
    ended.reject(new Error('ended'));
    await Promise.all(outcomes);
  });
});

test('QUEUE_LIMIT pages may wait, regardless of their length', async () => {
  const unblocked = Promise.withResolvers<void>();
  const observed = new Map<string, ObservedQueue>();
  const service = createPlantService({
    repository: { list: (pages: unknown[]) => unblocked.promise.then(() => pages.map(() => ({ ids: [] }))) } as never,
    limits: limitRequests(readConfig({ QUEUE_LIMIT: '2000' })),
    observeQueue: (name, queue) => {
      observed.set(name, queue);
      return undefined;
    },
  });
  const list = () =>
    service.list({ limit: 1000 }).then(
      () => 'done',
      (error: Error) => error.name,
    );
  const first = [list(), list()];
  // Until both are sent.
  while (observed.get('pages')?.length()) await setTimeout(1);
  const waiting = Array.from({ length: 2001 }, list);
  expect(observed.get('pages')).toMatchObject({ limit: 2000 });
  expect(observed.get('pages')?.length()).toBe(2000);
  unblocked.resolve();
  const outcomes = await Promise.all([...first, ...waiting]);
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(2002);
  expect(outcomes.at(-1)).toBe('OverloadedError');
});
