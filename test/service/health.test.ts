import { describe, expect, jest, test } from '@jest/globals';
import { createHealth } from '../../src/health/health.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { startAsRole } from '../support/start-as-role.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';
import { watchPostgres } from '../support/watched-postgres.ts';

const start = useTestServices();

describe('GET /livez and GET /readyz', () => {
  test('respond with 200 on a migrated database, without a token, at the root with any base path', async () => {
    const service = await start({ BASE_PATH: '/api/v1' });
    expect((await service.agent.get('/livez')).body).toEqual({ status: 'live' });
    expect((await service.agent.get('/readyz')).body).toEqual({ status: 'ready' });
    const { status, headers } = await service.agent.head('/readyz');
    expect([status, headers['content-length']]).toEqual([200, '18']);
    expect((await service.agent.get('/plants')).status).toBe(404);
    expect((await service.agent.get('/api/v1/plants')).status).toBe(401);
  });

  test('leave no connection behind when the service stops', async () => {
    const service = await start();
    expect((await service.agent.get('/readyz')).status).toBe(200);
    await service.stopServer();
    const sessions = async () => (await otherSessions(service.database)).length;
    // PostgreSQL needs a moment to end a session; the pool would close an idle connection after 10 s.
    await waitUntil('the end of all sessions', async () => (await sessions()) === 0, { patience: 5000 });
  });

  test('live but not ready if the database is not migrated, code 1502', async () => {
    const service = await start({}, { migrated: false });
    expect((await service.agent.get('/livez')).status).toBe(200);
    const expected = { error: 1502, message: 'The database is not migrated. Run: plant-store migrate' };
    const ready = await service.agent.get('/readyz');
    expect([ready.status, ready.body]).toEqual([503, expected]);
    const post = await service.agent
      .post('/plants')
      .set('Authorization', `Bearer plant_${'x'.repeat(43)}`)
      .send('{}');
    expect([post.status, post.body]).toEqual([503, expected]);
    expect(post.headers['retry-after']).toBe('1');
  });

  test('ready on a database that a newer release migrated', async () => {
    const service = await start();
    await service.database.query(`
      INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
      VALUES ('newer', '', '99991231000000_newer', now(), now(), 1)`);
    expect((await service.agent.get('/readyz')).status).toBe(200);
  });

  test.each([
    ['is missing', 'DELETE FROM _prisma_migrations'],
    ['is not finished', 'UPDATE _prisma_migrations SET finished_at = NULL'],
    ['was rolled back', 'UPDATE _prisma_migrations SET rolled_back_at = now()'],
  ])('not ready if a migration %s, code 1502', async (_title, change) => {
    const service = await start();
    await service.database.query(`${change} WHERE migration_name = '20261121000000_plants_and_tokens'`);
    const { status, body } = await service.agent.get('/readyz');
    expect([status, body.error]).toEqual([503, 1502]);
  });

  testUnless(
    onCitus('row-level security is its own matter'),
    'not ready if row-level security has no policy for a command of requests, code 1502; ready with one for each',
    async () => {
      await using stack = new AsyncDisposableStack();
      const { service, query, role } = await startAsRole(start, stack);
      expect((await service.agent.get('/readyz')).status).toBe(200);
      for (const table of ['tokens', 'idempotency_keys', 'rate_limits']) {
        await query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
        const { status, body } = await service.agent.get('/readyz');
        expect([status, body.message]).toEqual([503, expect.stringContaining(` on ${table}`)]);
        await query(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
      }
      await query('ALTER TABLE plants ENABLE ROW LEVEL SECURITY; ALTER TABLE tokens ENABLE ROW LEVEL SECURITY');
      const missing = async () => {
        const { status, body } = await service.agent.get('/readyz');
        return [
          status,
          body.error,
          /^No policy of row-level security allows the service (.*)\.$/.exec(body.message)?.[1],
        ];
      };
      const all = 'DELETE on plants, INSERT on plants, SELECT on plants, SELECT on tokens, UPDATE on plants';
      expect(await missing()).toEqual([503, 1502, all]);
      await query(`
        CREATE POLICY others ON plants TO pg_monitor USING (TRUE); CREATE POLICY fewer ON tokens AS RESTRICTIVE USING (TRUE);
        CREATE POLICY writes ON tokens FOR INSERT WITH CHECK (TRUE)`);
      expect(await missing()).toEqual([503, 1502, all]);
      await query(`CREATE POLICY reads ON plants FOR SELECT USING (TRUE); CREATE POLICY reads ON tokens FOR SELECT USING (TRUE);
        CREATE POLICY writes ON plants FOR UPDATE USING (TRUE)`);
      expect(await missing()).toEqual([503, 1502, 'DELETE on plants, INSERT on plants']);
      await query(`CREATE POLICY all_rows ON plants TO ${role} USING (TRUE)`);
      expect((await service.agent.get('/readyz')).status).toBe(200);
    },
  );

  testUnless(onCitus('roles are of a cluster'), 'not ready while the role lacks a privilege, code 1502', async () => {
    await using stack = new AsyncDisposableStack();
    const { service, query, role } = await startAsRole(start, stack);
    const ready = async () => {
      const { status, body } = await service.agent.get('/readyz');
      return [status, body.message];
    };
    await query(`REVOKE INSERT, DELETE ON plants FROM ${role}; REVOKE SELECT ON tokens FROM ${role};
      REVOKE UPDATE ON idempotency_keys, rate_limits FROM ${role}`);
    const missing =
      'INSERT on plants, DELETE on plants, SELECT on tokens, UPDATE on idempotency_keys, UPDATE on rate_limits';
    expect(await ready()).toEqual([503, `The role of the service lacks ${missing}, or there is no such table.`]);
    await query(`GRANT INSERT (id, name, tag), DELETE ON plants TO ${role}; GRANT SELECT ON tokens TO ${role};
      GRANT UPDATE ON idempotency_keys, rate_limits TO ${role}`);
    expect(await ready()).toEqual([200, undefined]);
    await query('ALTER TABLE tokens RENAME TO other');
    expect(await ready()).toEqual([503, 'The role of the service lacks SELECT on tokens, or there is no such table.']);
    await query('ALTER TABLE other RENAME TO tokens');
    await query(`REVOKE SELECT ON _prisma_migrations FROM ${role}`);
    const unread = 'The role of the service lacks SELECT on _prisma_migrations, or there is no such table.';
    expect(await ready()).toEqual([503, unread]);
  });

  testUnless(
    onCitus('roles are of a cluster'),
    'ready while requests have connections, although PostgreSQL opens no more for the role',
    async () => {
      await using stack = new AsyncDisposableStack();
      const { service, query, role } = await startAsRole(start, stack);
      await query(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      expect((await service.agent.get('/readyz')).status).toBe(503);
      await query(`ALTER ROLE ${role} CONNECTION LIMIT 1`);
      await service.post({ id: 1, name: 'Fir' });
      expect((await service.agent.get('/readyz')).status).toBe(200);
    },
  );

  test('live but not ready on a read-only database, code 1501, and the connection is closed', async () => {
    await using stack = new AsyncDisposableStack();
    const { name, url, administer, drop } = await createTestDatabase();
    stack.defer(drop);
    await administer(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const service = await start({}, { databaseUrl: url });
    const ready = await service.agent.get('/readyz');
    expect([ready.status, ready.body]).toEqual([
      503,
      { error: 1501, message: 'The database is not available; nothing was changed. Try again later.' },
    ]);
    expect((await service.agent.get('/livez')).status).toBe(200);
    // Sessions that are open remain read-only, as in a failover after which the address leads to the new primary.
    await administer(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    expect((await service.agent.get('/readyz')).status).toBe(200);
  });

  test('live but not ready, code 1501, within the time of a look-up, if the database says nothing', async () => {
    const { url, drop } = await createTestDatabase();
    const postgres = await watchPostgres(url);
    await using stack = new AsyncDisposableStack();
    stack.defer(drop);
    stack.defer(postgres.close);
    const requestLimits = { lookUpTimeout: 500 };
    const service = await start({ REQUEST_TIMEOUT: '3600' }, { databaseUrl: postgres.url, requestLimits });
    // A busy machine may need longer for one.
    await waitUntil('ready', async () => (await service.agent.get('/readyz')).status === 200);
    postgres.silence();
    // It may still get something.
    await service.agent.get('/readyz');
    for (let probe = 0; probe < 2; probe++) {
      const { status, body } = await service.agent.get('/readyz').timeout(10_000);
      expect([status, body.error]).toEqual([503, 1501]);
    }
    expect((await service.agent.get('/livez')).status).toBe(200);
    await service.stopServer();
  });

  test('live but not ready without a database, code 1501; ready again once it is back', async () => {
    const service = await start();
    await service.post({ id: 1, name: 'Fir' });
    const { name } = service.database;
    const admin = (sql: string) => service.database.administer(sql);
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`);
    const expected = { error: 1501, message: 'The database is not available; nothing was changed. Try again later.' };
    const [ready, post] = [await service.agent.get('/readyz'), await service.post({ id: 2, name: 'Fir' })];
    expect([ready.status, ready.body]).toEqual([503, expected]);
    expect([post.status, post.body]).toEqual([503, expected]);
    expect(post.headers['retry-after']).toBe('1');
    expect((await service.agent.get('/livez')).status).toBe(200);
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect((await service.agent.get('/readyz')).status).toBe(200);
    expect((await service.post({ id: 2, name: 'Fir' })).status).toBe(200);
  });

  test('not ready, code 1501, if requests have no connection and can get none, however often it is probed', async () => {
    await using stack = new AsyncDisposableStack();
    const { name, url, administer, drop } = await createTestDatabase();
    stack.defer(drop);
    const service = await start({}, { databaseUrl: url });
    const ready = async () => (await service.agent.get('/readyz')).status;
    const lookUp = async () =>
      (await service.agent.get('/plants').set('Authorization', `Bearer plant_${'x'.repeat(43)}`)).status;
    const allow = (isAllowed: boolean) => administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`);
    expect(await ready()).toBe(200);
    await allow(false);
    expect([await ready(), await lookUp()]).toEqual([200, 503]);
    // The age of the connection that the checks keep.
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    stack.defer(() => clock.mockRestore());
    // The first still uses it.
    expect([await ready(), await ready(), await lookUp()]).toEqual([200, 503, 503]);
    await allow(true);
    expect([await ready(), await lookUp(), await ready()]).toEqual([200, 401, 200]);
    // Requests have one now.
    clock.mockImplementation(() => now() + 20_000);
    await allow(false);
    expect([await ready(), await ready(), await lookUp()]).toEqual([200, 200, 401]);
  });
});

test.each([
  ['no server', { port: '1' }],
  ['a wrong password', { password: 'wrong' }],
  ['no such database', { pathname: '/nothing' }],
])('%s: 503, code 1501, for readiness checks and other requests', async (_title, change) => {
  const url = Object.assign(new URL(process.env.TEST_POSTGRES_URL ?? ''), change);
  const service = await start({}, { databaseUrl: url.href });
  const ready = await service.agent.get('/readyz');
  expect([ready.status, ready.body.error]).toEqual([503, 1501]);
  const post = await service.agent
    .post('/plants')
    .set('Authorization', `Bearer plant_${'x'.repeat(43)}`)
    .send('{}');
  expect([post.status, post.body.error]).toEqual([503, 1501]);
});

test('a service that stops refuses new connections and finishes the requests in progress', async () => {
  const service = await start();
  const unlock = await lockPlants(service.database.url);
  const underWay = service.post({ id: 1, name: 'Fir' }).then((response) => response);
  await waitForBlocked(service.database);
  const stopped = service.stopServer();
  await expect(fetch(`${service.baseUrl}/readyz`)).rejects.toThrow('fetch failed');
  await unlock();
  const { status, text, headers } = await underWay;
  expect([status, text, headers.connection]).toEqual([200, '{"name":"Fir"}', 'close']);
  await stopped;
});

test('a check goes on if PostgreSQL has just ended its idle session', async () => {
  const { database } = await start();
  await database.administer(`ALTER DATABASE ${database.name} SET idle_session_timeout = '50ms'`);
  const health = createHealth({
    database: { url: database.url, connectTimeout: 5000, statementTimeout: 60_000 },
    hasConnections: () => true,
    timeout: 60_000,
    warn: () => {},
    onChecked: () => {},
  });
  await health.assertReady();
  // This process does not notice the end before it sends the next check.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  await expect(health.assertReady()).resolves.toBeUndefined();
  await health.close();
});
