import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { BatchLimits } from '../batching/batch-queue.ts';
import { plantUnknown } from './plant.ts';
import type { PlantRepository } from './plant-repository.ts';
import { createPlantService } from './plant-service.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 10,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 10,
  queueBytes: 1_000_000,
  deadline: 1800,
};

const STATEMENT_TIMEOUT = 1200;
const queues = ['writes', 'reads', 'pages', 'longReads', 'searches', 'changes', 'lockedPlants'] as const;

/** A service with a fake repository. */
const createService = (repository: object, overrides: Partial<BatchLimits> = {}) =>
  createPlantService({
    repository: repository as PlantRepository,
    limits: {
      statementTimeout: STATEMENT_TIMEOUT,
      lockTimeout: 400,
      ...(Object.fromEntries(queues.map((name) => [name, { ...limits, ...overrides }])) as Record<
        (typeof queues)[number],
        BatchLimits
      >),
    },
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
  operation.catch((error: Error) => {
    failure.name = error.name;
  });
  return failure;
};

/** The client. */
const stays = () => false;
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
  const failure = failureOf(service.list({ limit: 10 }, stays));
  await pass(900);
  firstRead.resolve([undefined]);
  await turn();
  expect(calls).toEqual(['list', 'search']);
  await pass(limits.deadline - 900 - 1);
  expect(failure).toEqual({});
  await pass(1);
  expect(failure).toEqual({ name: 'DatabaseUnreachableError' });
});

test.each([{ name: 'Fir' }, 'delete'] as const)(
  'a change, %j, is not sent if its client disconnects before',
  async (change) => {
    const sent: bigint[] = [];
    const first = Promise.withResolvers<object>();
    const service = createService({
      change: ({ id }: { id: bigint }) => {
        sent.push(id);
        return first.promise;
      },
    });
    const outcomes = [1n, 2n, 3n].map((id) => failureOf(service.change({ id, change }, () => id === 2n)));
    await turn();
    first.resolve({});
    await turn();
    expect(sent).toEqual([1n, 3n]);
    expect(outcomes).toEqual([{}, { name: 'overloaded' }, {}]);
  },
);

describe('a change of many plants', () => {
  const many = { filter: { tag: 'x' } };
  /** A service whose changes end when the test ends them. */
  const start = () => {
    const ends: ((outcome: Promise<number>) => void)[] = [];
    const changeMany = () => new Promise<number>((resolve) => ends.push(resolve));
    return { ends, service: createService({ changeMany, search: never }) };
  };

  test('whose outcome does not arrive by its deadline may have been made', async () => {
    const { service } = start();
    const failure = failureOf(service.changeMany(many, stays));
    await turn();
    await pass(limits.deadline - 1);
    expect(failure).toEqual({});
    await pass(1);
    expect(failure).toEqual({ name: 'databaseUnreachable' });
  });

  test.each([
    [STATEMENT_TIMEOUT, 2, {}],
    [STATEMENT_TIMEOUT - 1, 1, { name: 'overloaded' }],
  ])(
    'that waited is sent only if PostgreSQL can cancel it before its deadline: with %i ms left',
    async (timeLeft, sent, outcome) => {
      const { service, ends } = start();
      const first = service.changeMany(many, stays);
      const failure = failureOf(service.changeMany(many, stays));
      await turn();
      await pass(limits.deadline - timeLeft);
      ends[0]?.(Promise.resolve(3));
      expect(await first).toBe(3);
      await turn();
      expect([ends.length, failure]).toEqual([sent, outcome]);
    },
  );

  test('is not sent if its client disconnects before', async () => {
    const { service, ends } = start();
    service.changeMany(many, stays);
    const failure = failureOf(service.changeMany(many, () => true));
    await turn();
    ends[0]?.(Promise.resolve(3));
    await turn();
    expect([ends.length, failure]).toEqual([1, { name: 'overloaded' }]);
  });

  test('that PostgreSQL canceled is error 1505', async () => {
    const { service, ends } = start();
    const failure = failureOf(service.changeMany(many, stays));
    await turn();
    ends[0]?.(Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014' })));
    await turn();
    expect(failure).toEqual({ name: 'searchTooSlow' });
  });
});

describe('a plant that is too long to share a statement', () => {
  /** Plants with ids below 100 are short, those below 200 are long, and others do not exist. */
  const start = () => {
    const shared: bigint[][] = [];
    const long: { id: bigint; end: () => void }[] = [];
    const service = createService(
      {
        findByIds: async (ids: bigint[]) => {
          shared.push(ids);
          const found = ids.filter((id) => id < 200n);
          return new Map(found.map((id) => [id, id < 100n ? { id, name: 'short' } : 'long']));
        },
        find: (id: bigint) =>
          new Promise((resolve, reject) =>
            long.push({
              id,
              end: () => (id === 150n ? reject(plantUnknown(id)) : resolve({ id, name: 'long' })),
            }),
          ),
      },
      { batches: 2 },
    );
    const find = (id: bigint, isAbandoned = stays) =>
      service.find(id, isAbandoned).then(
        ({ id, name }) => `${id} ${name}`,
        ({ name }: Error) => name,
      );
    return { find, shared, long };
  };

  test('is read in a statement of its own, few at a time', async () => {
    const { find, shared, long } = start();
    const outcomes = Promise.all([1n, 101n, 1n, 102n, 103n, 300n].map((id) => find(id)));
    await turn();
    expect(shared).toEqual([[1n, 101n, 102n, 103n, 300n]]);
    expect(long.map(({ id }) => id)).toEqual([101n, 102n]);
    long[0]?.end();
    await turn();
    expect(long.map(({ id }) => id)).toEqual([101n, 102n, 103n]);
    for (const { end } of long) end();
    expect(await outcomes).toEqual(['1 short', '101 long', '1 short', '102 long', '103 long', 'plantUnknown']);
  });

  test('is unknown if it is deleted between the two reads', async () => {
    const { find, long } = start();
    const found = find(150n);
    await turn();
    long[0]?.end();
    expect(await found).toBe('plantUnknown');
  });

  test('is not read for a client that has disconnected', async () => {
    const { find, long } = start();
    let isGone = false;
    const outcomes = [101n, 102n, 103n, 104n].map((id) => find(id, () => isGone && id === 103n));
    await turn();
    isGone = true;
    for (let index = 0; index < 3; index++) {
      long[index]?.end();
      await turn();
    }
    expect(long.map(({ id }) => id)).toEqual([101n, 102n, 104n]);
    expect(await Promise.all(outcomes)).toEqual(['101 long', '102 long', 'overloaded', '104 long']);
  });

  test('has the remaining time of its request after the first read', async () => {
    const shared = Promise.withResolvers<Map<bigint, 'long'>>();
    const service = createService({ findByIds: () => shared.promise, find: never });
    const failure = failureOf(service.find(1n, stays));
    await pass(limits.deadline - 100);
    shared.resolve(new Map([[1n, 'long']]));
    await pass(99);
    expect(failure).toEqual({});
    await pass(1);
    expect(failure).toEqual({ name: 'DatabaseUnreachableError' });
  });

  test('has the remaining time of its request', async () => {
    const { find, long } = start();
    const found = find(101n);
    await turn();
    await pass(limits.deadline);
    expect(await found).toBe('DatabaseUnreachableError');
    long[0]?.end();
  });
});
