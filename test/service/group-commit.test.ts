import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestLimits } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { onCitus, testUnless, unless } from '../support/skip.ts';
import { blockReadsOfPlant100, slowReadsObstacle, waitForBlockedRead } from '../support/slow-plants.ts';
import { stopAndCount } from '../support/stop-and-count.ts';
import { patientLookUps, type TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitForWrites } from '../support/wait-for-writes.ts';
import { waitUntil } from '../support/wait-until.ts';

const noTriggers = onCitus('plants can have no trigger');

const startService = useTestServices();
let service: TestService;
const start = async (environment: Record<string, string> = {}, requestLimits: Partial<RequestLimits> = {}) => {
  service = await startService(environment, { requestLimits: { connectionCheckInterval: 100, ...requestLimits } });
};

const postMany = (ids: number[], name = 'Fir') => Promise.all(ids.map((id) => service.post({ id, name })));
const summary = (responses: { status: number; body: { error?: number } }[]) => {
  const counts: Record<string, number> = {};
  for (const { status, body } of responses) {
    const key = body.error ? `${status} ${body.error}` : `${status}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

/** The plants that have been sent to PostgreSQL or wait for that. The service needs METRICS_PORT. */
const received = async () => {
  const { value } = await service.metrics();
  const writes = { queue: 'writes' };
  return (value('plant_store_batch_items_sum', writes) ?? 0) + (value('plant_store_queue_items', writes) ?? 0);
};

/** Sends plants while the table is locked, so that they wait and share statements. */
const postTogether = async (ids: number[]) => {
  const before = await received();
  const unlock = await lockPlants(service.database.url);
  const responses = postMany(ids);
  await waitUntil('all plants to arrive', async () => (await received()) >= before + ids.length);
  await unlock();
  return responses;
};

describe('concurrent requests', () => {
  // So long that all of them arrive in time on a busy machine.
  beforeEach(() => start({ METRICS_PORT: '0', REQUEST_TIMEOUT: '100' }));

  test('share transactions', async () => {
    const transactions = async () =>
      Number(
        (
          await service.database.administer(
            `SELECT xact_commit FROM pg_stat_database WHERE datname = '${service.database.name}'`,
          )
        )[0]?.xact_commit,
      );
    await postMany([1]);
    const before = await transactions();
    expect(summary(await postTogether(Array.from({ length: 400 }, (_, index) => index + 10)))).toEqual({ 200: 400 });
    await stopAndCount(service);
    expect((await transactions()) - before).toBeLessThan(200);
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: '401' }]);
  });

  test('succeed even if PostgreSQL refuses one of them; only that one fails', async () => {
    await service.database.query('ALTER TABLE plants ADD CONSTRAINT odd CHECK (id % 50 <> 7)');
    const responses = await postMany(Array.from({ length: 200 }, (_, index) => index));
    expect(summary(responses)).toEqual({ 200: 196, '400 1003': 4 });
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: '196' }]);
  });

  testUnless(noTriggers, 'take one statement per batch, not one per plant, if the service may not insert', async () => {
    await service.database.query(`
      CREATE SEQUENCE attempts;
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM nextval('attempts'); RAISE insufficient_privilege; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION refuse()`);
    const responses = await postMany(Array.from({ length: 200 }, (_, index) => index));
    expect(summary(responses)).toEqual({ '500 1599': 200 });
    // If every batch were split down to single plants, there would be twice as many statements as plants.
    const [row] = await service.database.query('SELECT last_value FROM attempts');
    expect(Number(row?.last_value)).toBeLessThan(100);
  });

  test('have an unknown outcome if the connection breaks, and are not retried', async () => {
    const unlock = await lockPlants(service.database.url);
    const waiting = postMany([1, 2, 3]);
    await waitForBlocked(service.database, 'INSERT INTO plants');
    await terminateBlocked(service.database);
    await unlock();
    const responses = await waiting;
    const broken = responses.filter(({ status }) => status === 503);
    expect(broken.length).toBeGreaterThan(0);
    for (const { body, headers } of broken) {
      expect(body).toEqual({ error: 1501, message: expect.stringContaining('The outcome is unknown') });
      expect(headers['retry-after']).toBe('1');
    }
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: `${3 - broken.length}` }]);
  });
});

testUnless(noTriggers, 'a trigger that rejects a plant fails that plant only', async () => {
  await start({ METRICS_PORT: '0' });
  await service.database.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
    CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION refuse()`);
  const ids = Array.from({ length: 20 }, (_, id) => id);
  const responses = await postTogether(ids);
  expect(responses.map(({ status }) => status)).toEqual(ids.map((id) => (id === 7 ? 400 : 200)));
});

test('plants beyond the queue limit are refused at once, code 1500; the others are stored', async () => {
  // So long that no response is caused by the timeout.
  await start({ QUEUE_LIMIT: '20', REQUEST_TIMEOUT: '3600' });
  const unlock = await lockPlants(service.database.url);
  const sent = Array.from({ length: 400 }, (_, id) => service.post({ id, name: 'Fir' }).then((response) => response));
  const waiting = Promise.all(sent);
  // While the table is locked, every response is a refusal.
  const { body, headers } = await Promise.race(sent);
  expect(body).toEqual({ error: 1500, message: 'Too many requests are waiting for the database. Try again later.' });
  expect(headers['retry-after']).toBe('1');
  await unlock();
  const counts = summary(await waiting);
  expect(Object.keys(counts).sort()).toEqual(['200', '503 1500']);
  expect((await service.database.query('SELECT count(*) FROM plants'))[0]?.count).toBe(String(counts['200']));
  const line = service.log.find(({ error }) => error === 1500);
  expect(line).toMatchObject({ level: 'warn', status: 503 });
  expect(line).not.toHaveProperty('err');
});

test('no request waits longer than REQUEST_TIMEOUT for a database that hangs, and the service recovers', async () => {
  await start({ REQUEST_TIMEOUT: '2' }, patientLookUps);
  const unlock = await lockPlants(service.database.url);
  // The table is locked, so that only a time limit can end these.
  const responses = await postMany([1, 2, 3]);
  for (const { status, body } of responses)
    expect([status, body.error === 1500 || body.error === 1501]).toEqual([503, true]);
  await unlock();
  await waitUntil('the recovery', async () => (await service.post({ id: 4, name: 'Fir' })).status === 200);
});

test('three services on one database that get the same ids store each once', async () => {
  await start();
  const others = await Promise.all([1, 2].map(() => startService({}, { databaseUrl: service.database.url })));
  const token = await service.tokens.create({ name: 'all', scopes: SCOPES, expiresAt: null });
  const send = async (baseUrl: string, id: number, name: string) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${baseUrl}/plants`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ id, name }),
    });
    return { status: response.status, body: (await response.json()) as { error?: number }, id, name };
  };
  const ids = Array.from({ length: 150 }, (_, index) => index);
  // Each service gets every id twice, in a different order.
  const responses = await Promise.all(
    [service, ...others].flatMap(({ baseUrl }, store) =>
      [...ids, ...ids].map((id, nth) => send(baseUrl, (id * (7 + 2 * store)) % 150, `${store} ${nth}`)),
    ),
  );
  expect(summary(responses)).toEqual({ 200: 150, '400 1004': 750 });
  const rows = await service.database.query('SELECT id, name FROM plants ORDER BY id');
  const winners = responses.filter(({ status }) => status === 200).sort((a, b) => a.id - b.id);
  expect(rows).toEqual(winners.map(({ id, name }) => ({ id: String(id), name })));
});

test('a plant is not stored if its client disconnects while it waits', async () => {
  await start({ METRICS_PORT: '0' });
  const unlock = await lockPlants(service.database.url);
  const first: Promise<number>[] = [];
  // One at a time, so that they take every batch slot and plant 5 has to wait.
  for (const id of [1, 2, 3, 4]) {
    first.push(service.post({ id, name: 'Fir' }).then(({ status }) => status));
    await waitForWrites(service, id);
  }
  const abort = new AbortController();
  const headers = { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' };
  const gone = fetch(`${service.baseUrl}/plants`, {
    method: 'POST',
    headers,
    body: '{"id":5,"name":"Fir"}',
    signal: abort.signal,
  });
  await waitForWrites(service, 5);
  abort.abort();
  await expect(gone).rejects.toThrow('aborted');
  await waitUntil('the log line', () => service.log.some(({ msg }) => msg === 'request aborted'));
  await unlock();
  expect(await Promise.all(first)).toEqual([200, 200, 200, 200]);
  expect((await service.post({ id: 6, name: 'Fir' })).status).toBe(200);
  expect(await service.stored('5')).toBeUndefined();
});

unless(slowReadsObstacle).test.each(['/plants', '/plants?tag=x', '/plants?q=s'])(
  'slow responses to GET %s leave connections for other requests',
  async (path) => {
    await start({ DATABASE_CONNECTIONS: '8' });
    await service.post({ id: 1, name: 'Fir' });
    const unblock = await blockReadsOfPlant100(service.database);
    const searches = Array.from({ length: 10 }, () => service.request('get', path).then(({ status }) => status));
    await waitForBlockedRead(service.database);
    const first = await Promise.race([...searches, service.request('get', '/plants/1').then(({ text }) => text)]);
    expect(first).toBe('{"id":1,"name":"Fir"}');
    await unblock();
    await Promise.all(searches);
  },
);
