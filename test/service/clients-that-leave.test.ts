import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { type SentRequest, sendFromClient, waitUntilIdle } from '../support/leaving-client.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { isOnCitus, onCitus, unless } from '../support/skip.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { PATIENT, useWatchedDatabase } from '../support/use-watched-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const { writes, reads, pages, longReads, searches, changes } = limitRequests(readConfig(PATIENT));
const oneByOne = { batches: 1 };

const { own, postgres, lock } = useWatchedDatabase();
let service: TestService;

beforeAll(async () => {
  const requestLimits = {
    writes: { ...writes, ...oneByOne },
    reads: { ...reads, ...oneByOne },
    pages: { ...pages, ...oneByOne },
    longReads: { ...longReads, ...oneByOne },
    searches: { ...searches, ...oneByOne },
    changes: { ...changes, ...oneByOne },
  };
  service = await startTestService(PATIENT, { databaseUrl: postgres.url, requestLimits });
  // What is asked only once is known from now on.
  const headers = isOnCitus ? {} : { 'Idempotency-Key': 'a' };
  expect(await send({ method: 'DELETE', path: '/plants/1', headers }).status).toBe(404);
});
afterAll(() => service.stop());
beforeEach(() => own.database.query('TRUNCATE plants'));

const send = (request: SentRequest) => sendFromClient(service, own.token, request);
const timesSent = (id: string) => postgres.timesSent(id);
const untilQueued = (count: number) =>
  waitUntil(`${count} requests in a queue`, () => service.inUse().queued === count, {
    explain: () => JSON.stringify(service.inUse()),
  });

/** Ids that occur nowhere else, so that each statement for a request can be told by its id. */
let lastId = 7_000_000_000;
const newId = () => String(++lastId);

const LONG = 'x'.repeat(20_000);
/** The plant of a request, and what is kept for the key that equals its id. */
const stateOf = async (id: string) => ({
  plants: await own.database.query('SELECT name, tag FROM plants WHERE id = $1', [id]),
  keys: isOnCitus
    ? []
    : await own.database.query("SELECT status FROM idempotency_keys WHERE key = sha256(convert_to($1, 'UTF8'))", [
        `test\n${id}`,
      ]),
});

type Operation = {
  title: string;
  request: (id: string) => SentRequest;
  /** The name of its plant before; undefined: there is none. */
  name?: string;
  status: number;
  /** It reads its plant first, and decides by it what else to send. */
  readsFirst?: boolean;
};

const plant = { name: 'Fir', tag: 'x' };
const change = (method: string, body?: object, headersOf: (id: string) => Record<string, string> = () => ({})) => ({
  request: (id: string): SentRequest => ({
    method,
    path: `/plants/${id}`,
    headers: headersOf(id),
    ...(body && { body }),
  }),
  name: 'Oak',
  status: method === 'DELETE' ? 204 : 200,
});
const read = (path: (id: string) => string) => ({
  request: (id: string): SentRequest => ({ method: 'GET', path: path(id) }),
  name: 'Oak',
  status: 200,
});
const pageAfter = (id: string) => `/plants?limit=2&cursor=${Buffer.from(id).toString('base64url')}`;
/** The entity tags of the plants, by their ids. */
const tags = new Map<string, string>();
const ifMatch = (id: string) => ({ 'If-Match': tags.get(id) ?? '' });

const POST: Operation = {
  title: 'POST',
  request: (id) => ({ method: 'POST', path: '/plants', body: { id: Number(id), ...plant } }),
  status: 200,
};
const PUT: Operation = { title: 'PUT', ...change('PUT', plant) };
const unkeyedChanges: Operation[] = [
  PUT,
  { title: 'PATCH', ...change('PATCH', { tag: 'x' }) },
  { title: 'DELETE', ...change('DELETE') },
];
const changesOfMany: Operation[] = [
  { ...change('PATCH', { tag: 'x' }), title: 'PATCH of many' },
  { ...change('DELETE'), title: 'DELETE of many' },
].map(({ request, ...rest }) => ({
  ...rest,
  request: (id) => ({ ...request(id), path: `/plants?id=${id}` }),
  status: 200,
}));
const conditionalChanges: Operation[] = [
  { title: 'PUT with If-Match', ...change('PUT', plant, ifMatch) },
  { title: 'PATCH with If-Match', ...change('PATCH', { tag: 'x' }, ifMatch) },
  { title: 'DELETE with If-Match', ...change('DELETE', undefined, ifMatch) },
];
const keyed = ({ title, request, ...rest }: Operation): Operation => ({
  ...rest,
  title: `${title} with a key`,
  request: (id) => {
    const { headers, ...others } = request(id);
    return { ...others, headers: { ...headers, 'Idempotency-Key': id } };
  },
});
const unmet: Operation = {
  title: 'PUT whose condition fails',
  ...change('PUT', plant, () => ({ 'If-Match': '"other"' })),
  status: 412,
};
const withKeys = isOnCitus ? [] : [POST, ...unkeyedChanges, ...conditionalChanges, unmet].map(keyed);
const allWrites = [POST, ...unkeyedChanges, ...changesOfMany, ...conditionalChanges, ...withKeys];
const GET: Operation = { title: 'GET by id', ...read((id) => `/plants/${id}`) };
const PAGE: Operation = { title: 'GET of a page', ...read(pageAfter) };
const allReads: Operation[] = [
  GET,
  { ...GET, title: 'GET of a long plant', name: LONG, readsFirst: true },
  PAGE,
  { ...PAGE, title: 'GET of a page with a long plant', name: LONG, readsFirst: true },
  { title: 'GET of several ids', ...read((id) => `/plants?id=${id}`) },
  { title: 'GET of the count by tag', ...read((id) => `/plants/count?tag=${id}`) },
  { title: 'GET of the count by a part of a name', ...read((id) => `/plants/count?q=${id}`) },
  { title: 'GET by tag', ...read((id) => `/plants?tag=${id}`) },
  { title: 'GET by a part of a name', ...read((id) => `/plants?q=${id}`) },
];
/** An operation with one statement, in the queue in which this one waits first. */
const inSameQueue = (operation: Operation) => {
  if (!operation.readsFirst) return operation;
  return operation.request('1').path.includes('?') ? PAGE : GET;
};

/** Stores the plants of requests. @returns their ids, in the order of pages */
const prepare = async <Operations extends Operation[]>(...operations: Operations) => {
  const ids = operations.map(newId);
  for (const [index, { name }] of operations.entries()) {
    if (name === undefined) continue;
    const id = ids[index] as string;
    await own.database.query('INSERT INTO plants VALUES ($1, $2)', [id, name]);
    tags.set(id, (await own.request('get', `/plants/${id}`)).headers.etag as string);
  }
  return ids as { [Index in keyof Operations]: string };
};

describe('a client that leaves while its request waits in a queue: nothing is sent for it, others are served', () => {
  test.each([...allWrites, ...allReads])('$title', async (operation) => {
    const blocker = inSameQueue(operation);
    const [gone, other, first] = await prepare(operation, operation, blocker);
    const before = await stateOf(gone);
    const unlock = await lock('plants');
    const blocking = send(blocker.request(first));
    await waitForBlocked(own.database);
    const leaving = send(operation.request(gone));
    await untilQueued(1);
    const staying = send(operation.request(other));
    await untilQueued(2);
    await leaving.leave();
    await unlock();
    expect([await blocking.status, await staying.status]).toEqual([blocker.status, operation.status]);
    await waitUntilIdle(service);
    expect([timesSent(gone), await stateOf(gone)]).toEqual([0, before]);
  });
});

const { describe: withLocks, test: withLocksTest } = unless(
  onCitus('a LOCK TABLE fails if it has to wait on a worker'),
);

withLocks('a client that leaves while its statement runs: no other follows, and those that share it are served', () => {
  test.each([...allWrites, ...allReads].filter(({ title }) => !title.startsWith('PATCH')))(
    '$title',
    async (operation) => {
      const blocker = inSameQueue(operation);
      const [gone, other, first] = await prepare(operation, operation, blocker);
      const before = await stateOf(gone);
      const unlockFirst = await lock('plants');
      const blocking = send(blocker.request(first));
      await waitForBlocked(own.database);
      const leaving = send(operation.request(gone));
      await untilQueued(1);
      const sharing = send(operation.request(other));
      await untilQueued(2);
      // This lock is granted behind the first statement, and before the one that follows.
      const next = lock('plants');
      await waitForBlocked(own.database, 'LOCK TABLE');
      await unlockFirst();
      const unlock = await next;
      expect(await blocking.status).toBe(blocker.status);
      await waitUntil('its statement', () => timesSent(gone) > 0);
      await waitForBlocked(own.database);
      const count = timesSent(gone);
      await leaving.leave();
      await unlock();
      expect(await sharing.status).toBe(operation.status);
      await waitUntilIdle(service);
      expect(timesSent(gone)).toBe(count);
      if (operation.readsFirst) expect(await stateOf(gone)).toEqual(before);
    },
  );
});

withLocksTest('a client that leaves while others read the same long plant: they are served', async () => {
  const [id, first] = await prepare({ ...GET, name: LONG }, GET);
  const unlockFirst = await lock('plants');
  const blocking = send(GET.request(first));
  await waitForBlocked(own.database);
  const clients = [send(GET.request(id)), send(GET.request(id)), send(GET.request(id))] as const;
  await untilQueued(3);
  const next = lock('plants');
  await waitForBlocked(own.database, 'LOCK TABLE');
  await unlockFirst();
  const unlock = await next;
  expect(await blocking.status).toBe(200);
  await waitUntil('their statement', () => timesSent(id) > 0);
  for (const { leave } of clients.slice(0, 2)) await leave();
  await unlock();
  expect(await clients[2].status).toBe(200);
});
