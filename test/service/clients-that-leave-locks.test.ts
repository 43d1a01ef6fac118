import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { type SentRequest, sendFromClient, waitUntilIdle } from '../support/leaving-client.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { onCitus, unless } from '../support/skip.ts';
import { shippedLocks, startTestService, type TestService } from '../support/test-service.ts';
import { PATIENT, useWatchedDatabase } from '../support/use-watched-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const withKeys = unless(onCitus('keys are refused'));
const { writes, changes, imports, tokens, newTokens } = limitRequests(readConfig(PATIENT));

const { own, postgres, lock, start } = useWatchedDatabase();
/** A batch at a time, so that few plants suffice to make others wait. */
let shared: TestService;
/** Of a test: another one if it has limits of its own. */
let service: TestService;
beforeAll(async () => {
  shared = await startTestService(PATIENT, {
    databaseUrl: postgres.url,
    requestLimits: { ...shippedLocks, writes: { ...writes, batches: 1 } },
  });
});
beforeEach(async () => {
  await own.database.query('TRUNCATE plants');
  service = shared;
});
afterAll(() => shared.stop());

const send = (request: SentRequest, token = own.token) => sendFromClient(service, token, request);
const inUse = (name: string) => service.inUse()[name as keyof ReturnType<TestService['inUse']>];
const untilInUse = (name: string, count: number) =>
  waitUntil(`${count} in use: ${name}`, () => inUse(name) === count, {
    explain: () => JSON.stringify(service.inUse()),
  });

/** Ids that occur nowhere else, so that each statement for a request can be told by its id. */
let lastId = 8_000_000_000;
const newId = () => String(++lastId);
const post = (id: string, key?: string): SentRequest => ({
  method: 'POST',
  path: '/plants',
  body: { id: Number(id), name: 'Fir' },
  ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
});
const change = (method: string, id: string, headers: Record<string, string> = {}): SentRequest => ({
  method,
  path: `/plants/${id}`,
  headers,
  ...(method !== 'DELETE' && { body: { name: 'Fir' } }),
});
const names = async () => (await own.database.query('SELECT name FROM plants ORDER BY id')).map(({ name }) => name);
const insert = (...ids: string[]) =>
  own.database.query("INSERT INTO plants SELECT id, 'Oak' FROM unnest($1::bigint[]) AS id", [ids]);
const keptKeys = () => own.database.query('SELECT FROM idempotency_keys');

/** A transaction of somebody else that changes plants. */
const changeElsewhere = async (ids: string[], created: string[] = []) => {
  const client = new Client({ connectionString: own.database.url });
  client.on('error', () => {});
  await client.connect();
  await client.query('BEGIN');
  await client.query("UPDATE plants SET name = 'Yew' WHERE id = ANY($1::bigint[])", [ids]);
  await client.query("INSERT INTO plants SELECT id, 'Yew' FROM unnest($1::bigint[]) AS id", [created]);
  return Object.assign(() => client.end(), { [Symbol.asyncDispose]: () => client.end() });
};

describe('a plant that another transaction has locked', () => {
  test('is not changed for clients that leave while they wait for it', async () => {
    const ids = [newId(), newId(), newId(), newId(), newId()] as const;
    const [created, ...stored] = ids;
    await insert(...stored);
    const etag = (await own.request('get', `/plants/${stored[3]}`)).headers.etag as string;
    await using unlock = await changeElsewhere(stored, [created]);
    const clients = [
      post(created),
      change('PUT', stored[0]),
      change('PATCH', stored[1]),
      change('DELETE', stored[2]),
      change('PUT', stored[3], { 'If-Match': etag }),
    ].map((request) => send(request));
    await untilInUse('lockedPlants', 5);
    await Promise.all(clients.map(({ leave }) => leave()));
    await waitUntilIdle(service);
    const sent = ids.map(postgres.timesSent);
    await unlock();
    expect(await send(change('PUT', newId())).status).toBe(404);
    expect([ids.map(postgres.timesSent), await names()]).toEqual([sent, ['Oak', 'Oak', 'Oak', 'Oak']]);
  });

  withKeys.test('is not changed for clients with keys that leave while they wait for it', async () => {
    const ids = [newId(), newId(), newId()] as const;
    const [created, ...stored] = ids;
    await insert(...stored);
    await using unlock = await changeElsewhere(stored, [created]);
    const clients = [
      post(created, newId()),
      change('PUT', stored[0], { 'Idempotency-Key': newId() }),
      change('DELETE', stored[1], { 'Idempotency-Key': newId() }),
    ].map((request) => send(request));
    await untilInUse('lockedPlants', 3);
    const keys = (await keptKeys()).length;
    await Promise.all(clients.map(({ leave }) => leave()));
    await waitUntilIdle(service);
    const sent = ids.map(postgres.timesSent);
    await unlock();
    expect(await send(change('PUT', newId())).status).toBe(404);
    expect(ids.map(postgres.timesSent)).toEqual(sent);
    expect([await names(), (await keptKeys()).length]).toEqual([['Oak', 'Oak'], keys]);
  });

  withKeys.test('stays locked for one that waits when another one leaves, which is then served', async () => {
    const id = newId();
    await insert(id);
    await using unlock = await changeElsewhere([id]);
    const staying = send(change('PUT', id));
    await untilInUse('lockedPlants', 1);
    const leaving = send(change('DELETE', id, { 'Idempotency-Key': newId() }));
    await untilInUse('requests', 2);
    await leaving.leave();
    await untilInUse('requests', 1);
    expect(inUse('lockedPlants')).toBe(1);
    await unlock();
    expect([await staying.status, await names()]).toEqual([200, ['Fir']]);
  });
});

test('the imports of clients that leave give up their slots after a while, although plants stay locked', async () => {
  service = await start({ imports: { ...imports, grace: 100 } });
  await lock('plants');
  const ids = [newId(), newId(), newId()] as const;
  const sendImport = (query: string, id: string, token?: string) =>
    send({ method: 'POST', path: `/plants/import${query}`, body: [{ id: Number(id), name: 'Fir' }] }, token);
  const other = await own.tokens.create({ name: newId(), scopes: SCOPES, expiresAt: null });
  const clients = [
    sendImport('', ids[0]),
    sendImport('?onConflict=replace', ids[1]),
    sendImport('?atomic=true', ids[2], other),
  ];
  await waitUntil('their statements', () => ids.every((id) => postgres.timesSent(id) === 1));
  await Promise.all(clients.map(({ leave }) => leave()));
  await waitUntilIdle(service);
});

withKeys.test('a conditional change with a key has one deadline', async () => {
  service = await start({ changes: { ...changes, deadline: 200 } });
  const id = newId();
  await insert(id);
  await lock('plants');
  const headers = { 'If-Match': '"other"', 'Idempotency-Key': newId() };
  expect(await send(change('PUT', id, headers)).status).toBe(503);
});

withKeys.describe('of several clients with one key', () => {
  let unlock: () => Promise<void>;
  // Its statements wait for a lock until a test releases it.
  beforeEach(async () => {
    service = await start({ writes: { ...writes, batches: 1 } });
  });
  /** They wait in the queue. */
  const sendThree = async (id: string) => {
    expect(await send(post('1', newId())).status).toBe(200);
    unlock = await lock('plants');
    const blocking = send(post(newId()));
    await waitForBlocked(own.database);
    const first = send(post(id, id));
    await untilInUse('queued', 1);
    const second = send(post(id, id));
    await untilInUse('queued', 2);
    const third = send(post(id, id));
    await untilInUse('queued', 3);
    return { blocking, clients: [first, second, third] as const };
  };
  const isReplayed = ({ answer }: ReturnType<typeof send>) =>
    answer.then(({ status, headers }) => [status, headers['idempotent-replayed'] === 'true']);

  test.each([
    ['the first', 0, 1, 2],
    ['the second', 1, 0, 2],
    ['the last', 2, 0, 1],
  ] as const)(
    '%s leaves: the others are answered, and the plant is stored once',
    async (_title, gone, first, second) => {
      const id = newId();
      const { clients } = await sendThree(id);
      await clients[gone].leave();
      await unlock();
      expect(await Promise.all([clients[first], clients[second]].map(isReplayed))).toEqual([
        [200, false],
        [200, true],
      ]);
      expect(await isReplayed(send(post(id, id)))).toEqual([200, true]);
    },
  );

  test('all but the last leave: it is answered', async () => {
    const id = newId();
    const { clients } = await sendThree(id);
    await clients[0].leave();
    await clients[1].leave();
    await unlock();
    expect(await isReplayed(clients[2])).toEqual([200, false]);
    expect(postgres.timesSent(id)).toBe(1);
  });

  test('all leave: nothing is done, and the key is new', async () => {
    const id = newId();
    const { blocking, clients } = await sendThree(id);
    for (const { leave } of clients) await leave();
    await unlock();
    expect(await blocking.status).toBe(200);
    await waitUntilIdle(service);
    expect(postgres.timesSent(id)).toBe(0);
    expect(await isReplayed(send(post(id, id)))).toEqual([200, false]);
  });
});

describe('a client that leaves before its request is accepted: nothing is done for it, others are served', () => {
  const imported = { method: 'POST', path: '/plants/import' };
  const requests = (ids: readonly string[]) => [
    post(ids[0] as string),
    change('PUT', ids[1] as string),
    change('DELETE', ids[2] as string),
    { method: 'GET', path: `/plants/${ids[3]}` },
    { method: 'GET', path: `/plants?q=${ids[4]}` },
    { method: 'GET', path: `/plants/export?q=${ids[5]}` },
    { ...imported, body: [{ id: Number(ids[6]), name: 'Fir' }] },
    { ...imported, body: `{"id":${ids[7]},"name":"Fir"}\n`, headers: { 'Content-Type': 'application/x-ndjson' } },
    // Says that it is long enough to need a slot.
    { ...post(ids[8] as string), headers: { 'Content-Length': '40000' }, isOpen: true },
  ];

  test.each([
    ['its token is looked up', 'tokens', {}],
    ['it is counted for the rate limit', 'rate_limits', { RATE_LIMIT: '100/3600' }],
  ])('while %s', async (_title, table, environment: Record<string, string>) => {
    const oneByOne = { tokens: { ...tokens, batches: 1 }, newTokens: { ...newTokens, batches: 1 } };
    service = await start(oneByOne, environment);
    const [first, second] = await Promise.all(
      [newId(), newId()].map((name) => own.tokens.create({ name, scopes: SCOPES, expiresAt: null })),
    );
    const ids = Array.from({ length: 9 }, newId);
    await insert(...ids.slice(1, 6));
    const unlock = await lock(table);
    const served = [send({ method: 'GET', path: '/plants' }, first)];
    await waitForBlocked(own.database);
    const clients = requests(ids).map((request) => send(request, second));
    await untilInUse('requests', 1 + clients.length);
    served.push(send({ method: 'GET', path: '/plants' }, second));
    await untilInUse('requests', 2 + clients.length);
    await Promise.all(clients.map(({ leave }) => leave()));
    await unlock();
    expect(await Promise.all(served.map(({ status }) => status))).toEqual([200, 200]);
    await waitUntilIdle(service);
    expect(ids.map(postgres.timesSent)).toEqual(ids.map(() => 0));
    expect(await names()).toEqual(ids.slice(1, 6).map(() => 'Oak'));
  });
});
