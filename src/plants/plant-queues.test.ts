import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { ObservedQueue } from '../batching/batch-queue.ts';
import { readConfig } from '../config/config.ts';
import { limitRequests } from '../request-limits.ts';
import type { PlantRepository } from './plant-repository.ts';
import { createPlantService, type PlantService } from './plant-service.ts';

const limits = limitRequests(readConfig({ QUEUE_LIMIT: '2000' }));
const oneByOne = <Limits extends object>(given: Limits) => ({ ...given, batches: 1, batchItems: 1, gatherTime: 0 });
/** Each queue sends one request, and the next one waits for it. */
const narrow = {
  ...limits,
  writes: oneByOne(limits.writes),
  changes: oneByOne(limits.changes),
  searches: oneByOne(limits.searches),
  pages: oneByOne(limits.pages),
};

/** A service with a fake repository, and its queues. */
const start = (repository: object, given = limits) => {
  const observed = new Map<string, ObservedQueue>();
  const service = createPlantService({
    repository: repository as PlantRepository,
    limits: given,
    observeQueue: (queue) => {
      observed.set(queue.name ?? '', queue);
      return {};
    },
  });
  return { service, observed };
};

/** Enough turns of the event loop for everything in these tests. */
const turn = async () => {
  for (let turns = 0; turns < 10; turns++) await setImmediate();
};

/** The client. */
const stays = () => false;

describe('bytes of a waiting request', () => {
  const long = 'x'.repeat(10_000);
  const plant = { id: 1n, name: long, tag: long };
  const cases: [
    string,
    'writes' | 'changes' | 'searches' | 'pages',
    (service: PlantService) => Promise<unknown>,
    number,
  ][] = [
    ['create a plant', 'writes', (service) => service.create(plant, stays), 40_000],
    [
      'change a plant',
      'changes',
      (service) => service.change({ id: 1n, change: { name: long, tag: long } }, stays),
      40_000,
    ],
    [
      'remove the tag',
      'changes',
      (service) => service.change({ id: 1n, change: { name: long, tag: null } }, stays),
      20_000,
    ],
    ['search', 'searches', (service) => service.list({ limit: 1000, tag: long, q: long }, stays), 40_000],
    ['list a page', 'pages', (service) => service.list({ limit: 1000 }, stays), 0],
  ];
  test.each(cases)('%s', async (_title, name, request, bytes) => {
    const ended = Promise.withResolvers<never>();
    const wait = () => ended.promise;
    const { service, observed } = start({ insert: wait, change: wait, search: wait, list: wait }, narrow);
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
  const list = (pages: unknown[]) => unblocked.promise.then(() => pages.map(() => ({ ids: [] })));
  const { service, observed } = start({ list });
  const ask = () =>
    service.list({ limit: 1000 }, stays).then(
      () => 'done',
      ({ name }: Error) => name,
    );
  const first = [ask(), ask()];
  await turn();
  expect(observed.get('pages')?.length()).toBe(0);
  const waiting = Array.from({ length: 2001 }, ask);
  expect(observed.get('pages')).toMatchObject({ limits: { queueItems: 2000 } });
  expect(observed.get('pages')?.length()).toBe(2000);
  unblocked.resolve();
  const outcomes = await Promise.all([...first, ...waiting]);
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(2002);
  expect(outcomes.at(-1)).toBe('overloaded');
});

const LOCKED = Object.assign(new Error('locked'), { code: '55P03' });
const stayLocked = {
  insert: async (plants: unknown[]) => plants.map(() => LOCKED),
  change: async () => Promise.reject(LOCKED),
};

test.each<[string, (service: PlantService, id: bigint, name: string) => Promise<unknown>]>([
  ['create', (service, id, name) => service.create({ id, name }, stays)],
  ['change', (service, id, name) => service.change({ id, change: { name } }, stays)],
])('writes that wait for locked plants are limited: %s', async (_verb, write) => {
  const deadlines = { writes: { ...limits.writes, deadline: 300 }, changes: { ...limits.changes, deadline: 300 } };
  const lockedPlants = { ...limits.lockedPlants, queueItems: 1 };
  const { service } = start(stayLocked, { ...limits, ...deadlines, lockTimeout: 1, lockedPlants });
  const outcomes = await Promise.allSettled([1n, 2n].map((id) => write(service, id, 'Fir')));
  const messages = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message);
  expect(messages).toContain('Too many requests are waiting for locked plants; nothing was changed. Try again later.');
});

test('changes that wait behind one whose plant is locked are not sent with those of other plants', async () => {
  const sent: bigint[] = [];
  const first = Promise.withResolvers<never>();
  const change = async ({ id }: { id: bigint }) => {
    sent.push(id);
    if (id === 1n) await first.promise;
    return { id, name: 'Fir' };
  };
  const { service } = start(
    { change },
    { ...narrow, changes: { ...narrow.changes, deadline: 1000 }, lockTimeout: 100 },
  );
  const ask = (id: bigint) =>
    service.change({ id, change: { name: 'Fir' } }, stays).catch((error: Error) => error.name);
  const asked = [1n, 1n, 1n, 2n].map(ask);
  await turn();
  expect(sent).toEqual([1n]);
  first.reject(LOCKED);
  expect(await asked[3]).toMatchObject({ id: 2n });
  // The others wait for the plant, one at a time.
  expect(sent.filter((id) => id === 1n).length).toBeLessThan(3);
  await Promise.all(asked);
});

test('a change is not sent if too little time is left to wait for a lock, since its outcome would be unknown', async () => {
  const first = Promise.withResolvers<void>();
  const sent: bigint[] = [];
  const change = async ({ id }: { id: bigint }) => {
    sent.push(id);
    await first.promise;
    return { id, name: 'Fir' };
  };
  const { service } = start({ change }, { ...narrow, changes: { ...narrow.changes, deadline: 300 }, lockTimeout: 100 });
  const ask = (id: bigint) =>
    service.change({ id, change: { name: 'Fir' } }, stays).catch((error: Error) => error.name);
  const asked = [ask(1n), ask(2n)];
  await setTimeout(200);
  first.resolve();
  expect([await asked[1], sent]).toEqual(['overloaded', [1n]]);
  await asked[0];
});
