import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { BatchLimits } from '../batching/batch-queue.ts';
import type { ObservedQueue } from '../batching/queue-observer.ts';
import { readConfig } from '../config/config.ts';
import type { KeyedRequest } from '../idempotency/keyed-request.ts';
import { limitRequests } from '../request-limits.ts';
import type { KeyedPlantRepository } from './keyed-plant-repository.ts';
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

const queues = ['writes', 'reads', 'pages', 'longReads', 'searches', 'changes', 'lockedPlants'] as const;

/** A service with a fake repository, which also has what that for requests with a key has. */
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
    keyedRepository: repository as KeyedPlantRepository,
    limits: Object.fromEntries(queues.map((name) => [name, { ...limits, ...overrides }])) as Record<
      (typeof queues)[number],
      BatchLimits
    >,
  });

/** Enough turns of the event loop for everything in these tests. */
const turn = async () => {
  for (let turns = 0; turns < 10; turns++) await setImmediate();
};

// Time passes only when a test says so.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const pass = async (milliseconds: number) => {
  jest.advanceTimersByTime(milliseconds);
  await turn();
};

/** The name of the error of an operation, once it has failed. */
const failureOf = (operation: Promise<unknown>) => {
  const failure: { name?: string } = {};
  operation.catch(({ name }: Error) => {
    failure.name = name;
  });
  return failure;
};

const never = () => new Promise<never>(() => {});

test('a page that is read twice, because it has a long plant, has one deadline', async () => {
  const calls: string[] = [];
  const firstRead = Promise.withResolvers<undefined[]>();
  const service = createService({
    list: () => {
      calls.push('list');
      return firstRead.promise;
    },
    search: () => {
      calls.push('search');
      return never();
    },
  });
  const failure = failureOf(service.list({ limit: 10 }));
  await pass(900);
  firstRead.resolve([undefined]);
  await turn();
  expect(calls).toEqual(['list', 'search']);
  await pass(limits.deadline - 900 - 1);
  expect(failure).toEqual({});
  await pass(1);
  expect(failure).toEqual({ name: 'DatabaseTimeoutError' });
});

test.each(['update', 'delete'] as const)(
  '%s with a condition has one deadline for reading and writing',
  async (name) => {
    const read = Promise.withResolvers<unknown>();
    const service = createService({ findByIds: () => read.promise, update: never, delete: never });
    const failure = failureOf(
      name === 'update'
        ? service.update({ id: 1n, change: {}, condition: () => true })
        : service.delete({ id: 1n, condition: () => true }),
    );
    await pass(900);
    read.resolve(new Map([[1n, { id: 1n, name: 'Fir' }]]));
    await turn();
    await pass(limits.deadline - 900 - 1);
    expect(failure).toEqual({});
    await pass(1);
    expect(failure).toEqual({ name: 'OutcomeUnknownError' });
  },
);

test('a change with a key has one deadline for looking the key up, reading and writing', async () => {
  const lookUp = Promise.withResolvers<undefined>();
  const service = createService({
    findByIds: async () => new Map([[1n, { id: 1n, name: 'Fir' }]]),
    ...{ unlessInUse: (_keyed: object, send: () => unknown) => send(), find: () => lookUp.promise, change: never },
  });
  const keyed = { key: 'a', fingerprint: 'b', startedAt: 0 } as KeyedRequest;
  const failure = failureOf(service.update({ id: 1n, change: {}, condition: () => true, keyed }));
  await pass(900);
  lookUp.resolve(undefined);
  await turn();
  await pass(limits.deadline - 900 - 1);
  expect(failure).toEqual({});
  await pass(1);
  expect(failure).toEqual({ name: 'OutcomeUnknownError' });
});

test.each(['update', 'delete'] as const)('%s is not sent if its client disconnects before', async (name) => {
  const sent: bigint[] = [];
  const first = Promise.withResolvers<object>();
  const send = (id: bigint) => {
    sent.push(id);
    return first.promise;
  };
  const service = createService({ update: send, delete: send });
  const start = (id: bigint, isAbandoned: () => boolean) =>
    name === 'update' ? service.update({ id, change: {}, isAbandoned }) : service.delete({ id, isAbandoned });
  const outcomes = [1n, 2n, 3n].map((id) => failureOf(start(id, () => id === 2n)));
  await turn();
  first.resolve({});
  await turn();
  expect(sent).toEqual([1n, 3n]);
  expect(outcomes).toEqual([{}, { name: 'OverloadedError' }, {}]);
});

test('a change that has to read again after a concurrent change has one deadline for all reads', async () => {
  let reads = 0;
  const write = Promise.withResolvers<undefined>();
  const service = createService({
    findByIds: async () => {
      reads++;
      return reads === 1 ? new Map([[1n, { id: 1n, name: 'Fir' }]]) : never();
    },
    update: () => write.promise,
  });
  const failure = failureOf(service.update({ id: 1n, change: {}, condition: () => true }));
  await pass(900);
  write.resolve(undefined);
  await turn();
  expect(reads).toBe(2);
  await pass(limits.deadline - 900 - 1);
  expect(failure).toEqual({});
  await pass(1);
  expect(failure).toEqual({ name: 'DatabaseTimeoutError' });
});

test('a change that conflicts with others until its deadline fails, and is not sent afterwards', async () => {
  let changes = 0;
  const service = createService({
    findByIds: async ([id]: bigint[]) => new Map([[id, { id, name: 'Fir' }]]),
    update: async () => {
      changes++;
      jest.advanceTimersByTime(limits.deadline / 3);
    },
  });
  await expect(service.update({ id: 1n, change: { name: 'Yew' }, condition: () => true })).rejects.toThrow(
    'Too many concurrent changes to this plant.',
  );
  await turn();
  expect(changes).toBe(3);
});

describe('bytes of a waiting request', () => {
  const long = 'x'.repeat(10_000);
  const plant = { id: 1n, name: long, tag: long };
  const cases: [string, string, (service: PlantService) => Promise<unknown>, number][] = [
    ['create a plant', 'writes', (service) => service.create(plant, () => false), 40_000],
    ['change a plant', 'changes', (service) => service.update({ id: 1n, change: { name: long, tag: long } }), 40_000],
    ['remove the tag', 'changes', (service) => service.update({ id: 1n, change: { name: long, tag: null } }), 20_000],
    [
      'change a long plant conditionally',
      'changes',
      (service) => service.update({ id: 1n, change: { name: 'Fir' }, condition: () => true }),
      40_006,
    ],
    [
      'delete a long plant conditionally',
      'changes',
      (service) => service.delete({ id: 1n, condition: () => true }),
      40_000,
    ],
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
    await turn();
    expect(queue?.length()).toBe(1);
    // Each item takes 500 bytes itself.
    expect(queue?.bytes()).toBe(500 + bytes);
    ended.reject(new Error('ended'));
    await Promise.all(outcomes);
  });
});

test('QUEUE_LIMIT pages may wait, regardless of their length', async () => {
  const unblocked = Promise.withResolvers<void>();
  const observed = new Map<string, ObservedQueue>();
  const service = createPlantService({
    keyedRepository: {} as KeyedPlantRepository,
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
  await turn();
  expect(observed.get('pages')?.length()).toBe(0);
  const waiting = Array.from({ length: 2001 }, list);
  expect(observed.get('pages')).toMatchObject({ limit: 2000 });
  expect(observed.get('pages')?.length()).toBe(2000);
  unblocked.resolve();
  const outcomes = await Promise.all([...first, ...waiting]);
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(2002);
  expect(outcomes.at(-1)).toBe('OverloadedError');
});
