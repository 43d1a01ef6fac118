import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { assertTimeLimits, checkDatabases, type InspectedDatabase } from '../../src/database/check-databases.ts';
import { createDatabase, createPool, withClient } from '../../src/database/database.ts';
import { classifyDatabaseError } from '../../src/database/database-error.ts';
import { openRowStream } from '../../src/database/row-stream.ts';
import { createTcpProxy } from '../faults/tcp-proxy.ts';
import { blockedStatements, lockTable, terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { createPostgresServer } from '../support/postgres-server.ts';
import { makeDataFolder, removeDataFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();

/** A timer counts from the time at which its event loop turned, and so fires some milliseconds early. */
const TIMER_IS_EARLY = 100;

const timed = async <Value>(promise: Promise<Value>) => {
  const startedAt = performance.now();
  const value = await promise;
  return { value, duration: performance.now() - startedAt };
};

/** Long enough that a request that waits for a statement is seen to, on any machine. In ms. */
const STATEMENT_TIMEOUT = 30_000;

describe('a database that does not respond', () => {
  const startPatient = () =>
    start(
      { REQUEST_TIMEOUT: '15' },
      { requestLimits: { statementTimeout: STATEMENT_TIMEOUT, lockTimeout: STATEMENT_TIMEOUT } },
    );

  test('to a token lookup: 503, code 1501, after a fifth of REQUEST_TIMEOUT', async () => {
    const service = await startPatient();
    const unlock = await lockTable(service.database.url, 'tokens');
    const { value, duration } = await timed(service.post({ id: 1, name: 'Fir' }).then((response) => response));
    await unlock();
    expect([value.status, value.body.error]).toEqual([503, 1501]);
    expect(duration).toBeLessThan(STATEMENT_TIMEOUT / 2);
    expect(await service.stored(1n)).toBeUndefined();
    expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
  });

  test('to a readiness check: 503, code 1501, after a fifth of REQUEST_TIMEOUT', async () => {
    const service = await startPatient();
    const unlock = await lockTable(service.database.url, '_prisma_migrations');
    const { value, duration } = await timed(service.agent.get('/readyz').then((response) => response));
    await unlock();
    expect([value.status, value.body.error]).toEqual([503, 1501]);
    expect(duration).toBeLessThan(STATEMENT_TIMEOUT / 2);
    expect((await service.agent.get('/readyz')).status).toBe(200);
  });
});

test('concurrent readiness checks share one query and one connection', async () => {
  const service = await start({ REQUEST_TIMEOUT: '60' }, { requestLimits: { lockTimeout: 30_000 } });
  const { url } = service.database;
  expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
  const unlock = await lockTable(url, '_prisma_migrations');
  const { agent } = service;
  const probes = Promise.all(Array.from({ length: 100 }, () => agent.get('/readyz').then(({ status }) => status)));
  await waitForBlocked(service.database);
  // By now, all of them are connected to the service.
  expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  expect(await blockedStatements(service.database)).toHaveLength(1);
  await unlock();
  expect(new Set(await probes)).toEqual(new Set([200]));
});

test('a read-only database: 503, code 1501, and the service closes its connection', async () => {
  const service = await start();
  const { database } = service;
  await service.post({ id: 1, name: 'Fir' });
  // As in a failover to a standby: open sessions are closed, and new ones cannot write.
  await database.administer(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
  const sessions = `FROM pg_stat_activity WHERE datname = '${database.name}'`;
  await database.administer(`SELECT pg_terminate_backend(pid) ${sessions}`);
  await waitUntil(
    'the end of the sessions',
    async () => (await database.administer(`SELECT pid ${sessions}`)).length === 0,
  );
  const { status, body } = await service.post({ id: 2, name: 'Fir' });
  expect([status, body]).toEqual([
    503,
    { error: 1501, message: 'The database is not available; nothing was changed. Try again later.' },
  ]);
  // Sessions that are open still cannot write; new ones can.
  await database.administer(`ALTER DATABASE ${database.name} RESET default_transaction_read_only`);
  expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  expect(await service.stored(2n)).toEqual({ id: '2', name: 'Fir', tag: null });
});

test('a read whose connection breaks: 503, code 1501, without advice for writes', async () => {
  const service = await start();
  await service.post({ id: 1, name: 'Fir' });
  const unlock = await lockTable(service.database.url, 'plants');
  const waiting = service.request('get', '/plants/1').then(({ status, body }) => ({ status, body }));
  await waitForBlocked(service.database);
  await terminateBlocked(service.database);
  await unlock();
  const message = 'The database cannot be reached. Try again later.';
  expect(await waiting).toEqual({ status: 503, body: { error: 1501, message } });
});

const database = useTestDatabase();

test('waiting for a busy pool is not waiting for an unreachable server, and may take longer', async () => {
  await using stack = new AsyncDisposableStack();
  const pool = createPool({ url: database.url, connections: 1, connectTimeout: 2000, statementTimeout: 6000 });
  const client = createDatabase({ pool, onConnectionLost: () => {} });
  stack.defer(() => client.$disconnect());
  const running = client.$queryRaw`SELECT pg_sleep(2.5)::text`;
  expect(await client.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  await running;
  const held = await pool.connect();
  const { value, duration } = await timed(client.$queryRaw`SELECT 1`.catch((error: unknown) => error));
  held.release();
  expect([classifyDatabaseError(value), duration >= 6000 - TIMER_IS_EARLY]).toEqual(['busy', true]);
});

test('a connection that cannot be opened in time fails, unless this process was too busy to open it', async () => {
  await using stack = new AsyncDisposableStack();
  const { hostname, port } = new URL(database.url);
  const proxy = await createTcpProxy(Number(port), hostname);
  stack.defer(proxy.close);
  const url = proxy.through(database.url);
  const pool = createPool({ url, connections: 2, connectTimeout: 4000, statementTimeout: 60_000 });
  stack.defer(() => pool.end());
  const opening = pool.query('SELECT 1 AS one');
  // Runs nothing else in this process meanwhile, and takes no time of other processes.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4500);
  expect((await opening).rows).toEqual([{ one: 1 }]);
  proxy.stall();
  const held = await pool.connect();
  const { value, duration } = await timed(pool.query('SELECT 1').catch((error) => error));
  held.release(true);
  expect(classifyDatabaseError(value)).toBe('unreachable');
  expect(duration).toBeGreaterThanOrEqual(4000 - TIMER_IS_EARLY);
  expect(duration).toBeLessThan(50_000);
});

test.each([
  ['database', (url: URL) => Object.assign(url, { pathname: '/missing' })],
  [
    'startup parameter',
    (url: URL) => Object.assign(url, { search: '?options=-c%20plants.x-y%3D1%20-c%20unknown%3D1' }),
  ],
  ['password', (url: URL) => Object.assign(url, { username: 'nobody', password: 'wrong' })],
])('a wrong %s is refused before a statement is sent', async (_what, change) => {
  const pool = createPool({
    url: change(new URL(database.url)).href,
    connections: 1,
    connectTimeout: 5000,
    statementTimeout: 5000,
  });
  const client = createDatabase({ pool, onConnectionLost: () => {} });
  const error = await client.$queryRaw`SELECT 1`.catch((reason: unknown) => reason);
  await client.$disconnect();
  expect(classifyDatabaseError(error)).toBe('unreachable');
});

describe('a connection that cannot be opened: no statement was sent', () => {
  const throughPool = async (url: string) => {
    const pool = createPool({ url, connections: 1, connectTimeout: 5000, statementTimeout: 5000 });
    await pool.query('SELECT 1').finally(() => pool.end());
  };
  const throughPrisma = async (url: string) => {
    const pool = createPool({ url, connections: 1, connectTimeout: 5000, statementTimeout: 5000 });
    const client = createDatabase({ pool, onConnectionLost: () => {} });
    await client.token.findMany().finally(() => client.$disconnect());
  };
  const throughRowStream = (url: string) => {
    const sql = { text: 'SELECT 1', values: [] };
    const { signal } = new AbortController();
    return openRowStream({ url, connectTimeout: 5000 }, { sql, maySort: true, head: '', write: String, signal });
  };

  test.each([
    ['the pool', throughPool],
    ['Prisma', throughPrisma],
    ['a command', (url: string) => withClient(url, (client) => client.query('SELECT 1'))],
    ['an export', throughRowStream],
  ])('by %s', async (_name, open: (url: string) => Promise<unknown>) => {
    await using stack = new AsyncDisposableStack();
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
    const { port } = server.address() as AddressInfo;
    for (const url of [
      'postgresql://user@localhost/plants?host=/no/such/folder',
      `postgresql://user@127.0.0.1:${port}/plants`,
      `postgresql://user@127.0.0.1:${port}/plants?sslmode=require`,
      Object.assign(new URL(database.url), { pathname: '/missing' }).href,
    ]) {
      const error = await open(url).catch((reason: unknown) => reason);
      expect([error, classifyDatabaseError(error)]).toEqual([expect.any(Error), 'unreachable']);
    }
  });

  test('a missing Unix socket does not prevent the start', async () => {
    const databaseUrl = 'postgresql://user@localhost/plants?host=/no/such/folder';
    await checkDatabases({ databaseUrl, directUrl: undefined, isMigrated: true });
    const [pooled] = await checkDatabases({
      databaseUrl: `${databaseUrl}&pgbouncer=true`,
      directUrl: undefined,
      isMigrated: true,
    });
    assertTimeLimits(pooled as InspectedDatabase, 1000);
  });
});

test('a database that accepts a connection and says nothing more does not prevent the start', async () => {
  await using stack = new AsyncDisposableStack();
  // AuthenticationOk and ReadyForQuery (PostgreSQL's protocol, §54.7).
  const ready = Buffer.from('5200000008000000005a0000000549', 'hex');
  const server = createServer((socket) => void socket.once('data', () => socket.write(ready))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const databaseUrl = `postgresql://user@127.0.0.1:${port}/plants`;
  const [found] = await checkDatabases({ databaseUrl, directUrl: undefined, isMigrated: true });
  expect(classifyDatabaseError(found?.failure)).toBe('interrupted');
});

test('DIRECT_URL must lead to the database of DATABASE_URL', async () => {
  const url = Object.assign(new URL(database.url), { pathname: '/postgres' });
  const checking = checkDatabases({ databaseUrl: database.url, directUrl: url.href, isMigrated: true });
  await expect(checking).rejects.toThrow(
    `DATABASE_URL leads to the database ${database.name}, and DIRECT_URL to postgres. Set both to the same database`,
  );
});

test('DIRECT_URL must lead to the server of DATABASE_URL: imports would be stored elsewhere', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = makeDataFolder();
  stack.defer(() => removeDataFolder(folder));
  const other = await createPostgresServer({ folder, name: 'other' });
  await other.start();
  stack.defer(() => other.stop());
  await other.query(`CREATE DATABASE ${database.name}`);
  const url = Object.assign(new URL(other.url), { pathname: `/${database.name}` });
  const checking = checkDatabases({ databaseUrl: database.url, directUrl: url.href, isMigrated: true });
  await expect(checking).rejects.toThrow(
    `DATABASE_URL leads to the database ${database.name}, and DIRECT_URL to one of another server. Set both`,
  );
});

test.each([
  ['array_nulls=off', 'array_nulls is off'],
  ['gin_fuzzy_search_limit=5', 'gin_fuzzy_search_limit is set, so searches by name would miss plants. Run ALTER ROLE'],
])('the database at DIRECT_URL is refused with %s, too', async (setting, message) => {
  const url = new URL(database.url);
  url.searchParams.set('options', `-c ${setting}`);
  const checking = checkDatabases({ databaseUrl: database.url, directUrl: url.href, isMigrated: true });
  await expect(checking).rejects.toThrow(message);
});

test('the advice names the role that has logged in, whose settings a session has after SET ROLE', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c role=pg_monitor -c array_nulls=off');
  const checking = checkDatabases({ databaseUrl: url.href, directUrl: undefined, isMigrated: false });
  await expect(checking).rejects.toThrow(`ALTER ROLE "${url.username}" SET array_nulls`);
});

test('a connection that stalls during a statement is closed; an idle connection is kept', async () => {
  await using stack = new AsyncDisposableStack();
  const { hostname, port } = new URL(database.url);
  const proxy = await createTcpProxy(Number(port), hostname);
  stack.defer(proxy.close);
  const statementTimeout = 500;
  const pool = createPool({
    url: proxy.through(database.url),
    connections: 1,
    connectTimeout: 10_000,
    statementTimeout,
  });
  stack.defer(() => pool.end());
  const session = async () => (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const first = await session();
  // No event marks a timeout that does not fire.
  await setTimeout(2 * statementTimeout);
  expect(await session()).toBe(first);
  proxy.stall();
  const { value, duration } = await timed(session().catch((error) => error));
  expect(classifyDatabaseError(value)).toBe('interrupted');
  expect(duration).toBeGreaterThanOrEqual(statementTimeout - TIMER_IS_EARLY);
  expect(duration).toBeLessThan(40 * statementTimeout);
  proxy.resume();
  // A busy machine may take longer than that to open one.
  await waitUntil('another connection', async () => (await session().catch(() => first)) !== first);
});
