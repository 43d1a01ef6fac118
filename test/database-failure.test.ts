import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createPool } from '../src/database/database.ts';
import { classifyDatabaseError } from '../src/database/database-error.ts';
import { createTcpProxy } from './faults/tcp-proxy.ts';
import { lockTable } from './support/lock-table.ts';
import { createTestDatabase } from './support/test-database.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

const timed = async <Value>(promise: Promise<Value>) => {
  const startedAt = performance.now();
  const value = await promise;
  return { value, duration: performance.now() - startedAt };
};

describe('a database that does not answer', () => {
  test('when a token is looked up is 503, code 1501, after a fifth of REQUEST_TIMEOUT', async () => {
    service = await startTestService({ REQUEST_TIMEOUT: '20' });
    const unlock = await lockTable(service.database.url, 'tokens');
    const { value, duration } = await timed(service.post({ id: 1, name: 'Fir' }).then((response) => response));
    await unlock();
    expect([value.status, value.body.error]).toEqual([503, 1501]);
    expect(duration).toBeLessThan(10_000);
    expect(await service.stored(1n)).toBeUndefined();
    expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
  });

  test('when it is asked whether it is ready is 503, code 1501, as soon', async () => {
    service = await startTestService({ REQUEST_TIMEOUT: '20' });
    const unlock = await lockTable(service.database.url, '_prisma_migrations');
    const { value, duration } = await timed(service.agent.get('/readyz').then((response) => response));
    await unlock();
    expect([value.status, value.body.error]).toEqual([503, 1501]);
    expect(duration).toBeLessThan(10_000);
    expect((await service.agent.get('/readyz')).status).toBe(200);
  });
});

test('many probes at once share a look at the database, and take one connection', async () => {
  service = await startTestService({ REQUEST_TIMEOUT: '60' });
  const { query, url } = service.database;
  expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
  const unlock = await lockTable(url, '_prisma_migrations');
  const { agent } = service;
  const probes = Promise.all(Array.from({ length: 100 }, () => agent.get('/readyz').then(({ status }) => status)));
  const blocked = async () =>
    (await query("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
      .length;
  while ((await blocked()) === 0);
  // All of them have connections to the store by now.
  expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  expect(await blocked()).toBe(1);
  await unlock();
  expect(new Set(await probes)).toEqual(new Set([200]));
});

test('a database that only reads is 503, code 1501, and a connection that leads to one is not used again', async () => {
  service = await startTestService();
  const { database } = service;
  await service.post({ id: 1, name: 'Fir' });
  // As a standby: sessions that begin now cannot write; the store's are cut, as where it fails over.
  await database.administer(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
  const sessions = `FROM pg_stat_activity WHERE datname = '${database.name}'`;
  await database.administer(`SELECT pg_terminate_backend(pid) ${sessions}`);
  while ((await database.administer(`SELECT pid ${sessions}`)).length > 0);
  const { status, body } = await service.post({ id: 2, name: 'Fir' });
  expect([status, body]).toEqual([503, { error: 1501, message: 'The database cannot be reached; try again later.' }]);
  // The sessions that there are cannot write either from now on, only new ones.
  await database.administer(`ALTER DATABASE ${database.name} RESET default_transaction_read_only`);
  expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  expect(await service.stored(2n)).toEqual({ id: '2', name: 'Fir', tag: null });
});

test('a connection on which nothing arrives any more is given up with its statement, an idle one is not', async () => {
  await using stack = new AsyncDisposableStack();
  const database = await createTestDatabase();
  stack.defer(database.drop);
  const { hostname, port } = new URL(database.url);
  const proxy = await createTcpProxy(Number(port), hostname);
  stack.defer(proxy.close);
  const statementTimeout = 300;
  const pool = createPool({ url: proxy.through(database.url), connections: 1, connectTimeout: 1000, statementTimeout });
  stack.defer(() => pool.end());
  const session = async () => (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const first = await session();
  await setTimeout(2 * statementTimeout);
  expect(await session()).toBe(first);
  proxy.stall();
  const { value, duration } = await timed(session().catch((error) => error));
  expect(classifyDatabaseError(value)).toBe('interrupted');
  expect(duration).toBeGreaterThanOrEqual(statementTimeout - 1);
  expect(duration).toBeLessThan(10 * statementTimeout);
  proxy.resume();
  expect(await session()).not.toBe(first);
});
