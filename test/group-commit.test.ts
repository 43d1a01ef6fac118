import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../src/tokens/token.ts';
import { lockPlants } from './support/lock-plants.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
const start = async (environment: Record<string, string> = {}) => {
  service = await startTestService(environment);
};
afterEach(() => service.stop());

const postMany = (ids: number[], name = 'Fir') => Promise.all(ids.map((id) => service.post({ id, name })));
const summary = (responses: { status: number; body: { error?: number } }[]) => {
  const counts: Record<string, number> = {};
  for (const { status, body } of responses) {
    const key = body.error ? `${status} ${body.error}` : `${status}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

describe('concurrent requests', () => {
  beforeEach(() => start());

  test('are stored by far fewer transactions than there are of them', async () => {
    const transactions = async () =>
      Number(
        (await service.database.query('SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()'))[0]
          ?.xact_commit,
      );
    await postMany([1]);
    const before = await transactions();
    expect(summary(await postMany(Array.from({ length: 400 }, (_, index) => index + 10)))).toEqual({ 200: 400 });
    await new Promise((resolve) => setTimeout(resolve, 1100)); // PostgreSQL publishes its counters once a second.
    expect((await transactions()) - before).toBeLessThan(200);
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: '401' }]);
  });

  test('lose none to one that PostgreSQL refuses, which fails alone', async () => {
    await service.database.query('ALTER TABLE plants ADD CONSTRAINT odd CHECK (id % 50 <> 7)');
    const responses = await postMany(Array.from({ length: 200 }, (_, index) => index));
    expect(summary(responses)).toEqual({ 200: 196, '500 1599': 4 });
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: '196' }]);
  });

  test('take one statement a batch, and not one a plant, where the store may not insert', async () => {
    await service.database.query(`
      CREATE SEQUENCE attempts;
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM nextval('attempts'); RAISE insufficient_privilege; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION refuse()`);
    const responses = await postMany(Array.from({ length: 200 }, (_, index) => index));
    expect(summary(responses)).toEqual({ '500 1599': 200 });
    // Halved down to single plants, they were twice as many as there are plants.
    const [row] = await service.database.query('SELECT last_value FROM attempts');
    expect(Number(row?.last_value)).toBeLessThan(100);
  });

  test('are told that the outcome is not known when the connection breaks under them, and are not tried again', async () => {
    const unlock = await lockPlants(service.database.url);
    const waiting = postMany([1, 2, 3]);
    const writers = "FROM pg_stat_activity WHERE query LIKE '%INSERT INTO plants%' AND wait_event_type = 'Lock'";
    while ((await service.database.query(`SELECT pid ${writers}`)).length === 0);
    await service.database.query(`SELECT pg_terminate_backend(pid) ${writers}`);
    await unlock();
    const responses = await waiting;
    const broken = responses.filter(({ status }) => status === 503);
    expect(broken.length).toBeGreaterThan(0);
    for (const { body, headers } of broken) {
      expect(body).toEqual({ error: 1501, message: expect.stringContaining('may be done, or not') });
      expect(headers['retry-after']).toBe('1');
    }
    expect(await service.database.query('SELECT count(*) FROM plants')).toEqual([{ count: `${3 - broken.length}` }]);
  });
});

test('more than may wait is refused at once, code 1500, and the rest is stored', async () => {
  // So long that no answer comes from waiting in vain.
  await start({ QUEUE_LIMIT: '20', REQUEST_TIMEOUT: '3600' });
  const unlock = await lockPlants(service.database.url);
  const sent = Array.from({ length: 400 }, (_, id) => service.post({ id, name: 'Fir' }).then((response) => response));
  const waiting = Promise.all(sent);
  // As long as the table is locked, an answer can only be a refusal.
  const { body, headers } = await Promise.race(sent);
  expect(body).toEqual({ error: 1500, message: 'The store is overloaded; try again later.' });
  expect(headers['retry-after']).toBe('1');
  await unlock();
  const counts = summary(await waiting);
  expect(Object.keys(counts).sort()).toEqual(['200', '503 1500']);
  expect((await service.database.query('SELECT count(*) FROM plants'))[0]?.count).toBe(String(counts['200']));
  const line = service.log.find(({ error }) => error === 1500);
  expect(line).toMatchObject({ level: 'warn', status: 503 });
  expect(line).not.toHaveProperty('err');
});

test('nothing waits longer than REQUEST_TIMEOUT for a database that hangs, and it recovers', async () => {
  await start({ REQUEST_TIMEOUT: '10' });
  const unlock = await lockPlants(service.database.url);
  const sentAt = performance.now();
  const responses = await postMany([1, 2, 3]);
  expect(performance.now() - sentAt).toBeLessThan(10_000);
  for (const { status, body } of responses)
    expect([status, body.error === 1500 || body.error === 1501]).toEqual([503, true]);
  await unlock();
  while ((await service.post({ id: 4, name: 'Fir' })).status !== 200);
});

test('three stores on one database, hammering the same ids, store each once', async () => {
  await start();
  const others = await Promise.all([1, 2].map(() => startTestService({}, { databaseUrl: service.database.url })));
  try {
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
    // Each store gets the ids in an order of its own, each twice.
    const responses = await Promise.all(
      [service, ...others].flatMap(({ baseUrl }, store) =>
        [...ids, ...ids].map((id, nth) => send(baseUrl, (id * (7 + 2 * store)) % 150, `${store} ${nth}`)),
      ),
    );
    expect(summary(responses)).toEqual({ 200: 150, '400 1004': 750 });
    const rows = await service.database.query('SELECT id, name FROM plants ORDER BY id');
    const winners = responses.filter(({ status }) => status === 200).sort((a, b) => a.id - b.id);
    expect(rows).toEqual(winners.map(({ id, name }) => ({ id: String(id), name })));
  } finally {
    await Promise.all(others.map((other) => other.stop()));
  }
});

test('a client that goes away while its plant waits does not have it stored', async () => {
  await start();
  const unlock = await lockPlants(service.database.url);
  const first: Promise<number>[] = [];
  // Apart, so that they take up every batch that may be under way.
  for (const id of [1, 2, 3, 4]) {
    first.push(service.post({ id, name: 'Fir' }).then(({ status }) => status));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const abort = new AbortController();
  const headers = { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' };
  const gone = fetch(`${service.baseUrl}/plants`, {
    method: 'POST',
    headers,
    body: '{"id":5,"name":"Fir"}',
    signal: abort.signal,
  });
  setTimeout(() => abort.abort(), 300);
  await expect(gone).rejects.toThrow('aborted');
  await new Promise((resolve) => setTimeout(resolve, 100));
  await unlock();
  expect(await Promise.all(first)).toEqual([200, 200, 200, 200]);
  expect((await service.post({ id: 6, name: 'Fir' })).status).toBe(200);
  expect(await service.stored('5')).toBeUndefined();
});

test.each(['/plants', '/plants?tag=x', '/plants?q=s'])(
  'slow answers to GET %s leave connections to others',
  async (path) => {
    await start({ DATABASE_CONNECTIONS: '8' });
    await service.post({ id: 1, name: 'Fir' });
    await service.database.query(`
    ALTER TABLE plants RENAME TO stored;
    CREATE VIEW plants AS SELECT * FROM stored WHERE id < 100 OR pg_sleep(2) IS NOT NULL;
    INSERT INTO stored VALUES (100, 'slow', 'x')`);
    const searches = Array.from({ length: 10 }, () => service.request('get', path).then(({ status }) => status));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const first = await Promise.race([...searches, service.request('get', '/plants/1').then(({ text }) => text)]);
    expect(first).toBe('{"id":1,"name":"Fir"}');
    await Promise.all(searches);
  },
);
