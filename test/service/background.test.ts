import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { createTcpProxy } from '../faults/tcp-proxy.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { onCitus, unless } from '../support/skip.ts';
import { patientLimits, type TestService } from '../support/test-service.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
const database = useTestDatabase();
afterEach(() => {
  jest.restoreAllMocks();
});

/** In ms. */
const INTERVAL = 50;
const HOUR = 3_600_000;

const linesOf = ({ log }: TestService, message: string) => log.filter(({ msg }) => msg === message);
const expectServed = async (service: TestService, id: number) =>
  expect((await service.post({ id, name: 'Fir' })).status).toBe(200);

const here = unless(onCitus('keys are refused, and tables that are distributed take no triggers'));

here.describe('deletion of what has expired', () => {
  here.test.each([
    [
      'idempotency_keys',
      "INSERT INTO idempotency_keys VALUES (sha256(random()::text::bytea), '', 200, NULL, now() - interval '1 h')",
      'expires_at < now()',
      'could not delete expired responses to idempotency keys',
    ],
    [
      'rate_limits',
      'INSERT INTO rate_limits VALUES (random()::text, 1, extract(epoch FROM now()) * 1000 - 1)',
      "key NOT LIKE 'token:%'",
      'could not delete the rate limit counters of ended windows',
    ],
  ])('%s: it runs, a failure is logged and ends nothing, and it runs again', async (table, insert, isOld, message) => {
    const service = await start({ RATE_LIMIT: '1000/60' }, { requestLimits: { sweepInterval: INTERVAL } });
    const { query } = service.database;
    const isDeleted = async () => (await query(`SELECT FROM ${table} WHERE ${isOld}`)).length === 0;
    await query(insert);
    await waitUntil('the deletion', isDeleted);
    await query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
      CREATE TRIGGER refuse BEFORE DELETE ON ${table} EXECUTE FUNCTION refuse()`);
    await query(insert);
    await waitUntil('two failures', () => linesOf(service, message).length >= 2);
    expect(linesOf(service, message)[0]).toMatchObject({ level: 'warn', err: { stack: expect.any(String) } });
    await query('DROP FUNCTION refuse CASCADE');
    await waitUntil('the deletion', isDeleted);
  });

  here.test('without RATE_LIMIT, no counters are looked for', async () => {
    const service = await start({}, { requestLimits: { sweepInterval: INTERVAL } });
    const { query } = service.database;
    await query("INSERT INTO rate_limits VALUES ('old', 1, 0)");
    await query("INSERT INTO idempotency_keys VALUES ('', '', 200, NULL, now() - interval '1 h')");
    await waitUntil('a deletion', async () => (await query('SELECT FROM idempotency_keys')).length === 0);
    expect(await query('SELECT key FROM rate_limits')).toEqual([{ key: 'old' }]);
  });
});

test('a deletion to which the database does not respond does not delay the end of the service', async () => {
  await using stack = new AsyncDisposableStack();
  const { hostname, port } = new URL(database.url);
  const proxy = await createTcpProxy(Number(port), hostname);
  stack.defer(proxy.close);
  // The database may take 45 s to respond.
  const service = await start(
    { REQUEST_TIMEOUT: '60', RATE_LIMIT: '1000/60' },
    { databaseUrl: proxy.through(database.url), requestLimits: { sweepInterval: INTERVAL } },
  );
  await service.agent.get('/readyz');
  proxy.stall();
  await waitUntil('a deletion', async () => {
    // What was in progress has ended after that.
    await setTimeout(2 * INTERVAL);
    return service.inUse().connections > 0;
  });
  service.log.length = 0;
  const stoppedAt = performance.now();
  await service.stopServer();
  expect(performance.now() - stoppedAt).toBeLessThan(5000);
  expect(service.log.filter(({ msg }) => msg.startsWith('could not delete'))).toEqual([]);
});

test('connections that PostgreSQL closes are logged, and others take their place', async () => {
  const service = await start();
  const importRow = async (id: number) => {
    const response = await service.agent
      .post('/plants/import')
      .set({ Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/x-ndjson' })
      .send(`{"id":${id},"name":"Fir"}\n`);
    expect(response.body).toMatchObject({ created: 1 });
  };
  const useBoth = async (id: number) => {
    await expectServed(service, id);
    await importRow(id + 1);
  };
  await useBoth(1);
  const pids = (await otherSessions(service.database)).map(({ pid }) => Number(pid));
  for (const pid of pids) await service.database.query('SELECT pg_terminate_backend($1::int, 5000)', [pid]);
  const lost = () => service.log.filter(({ msg }) => msg.startsWith('a connection to the database was lost: '));
  // Those of the pool of requests and of the pool of imports.
  await waitUntil('the lines', () => lost().length >= Math.max(2, pids.length));
  expect(new Set(lost().map(({ level }) => level))).toEqual(new Set(['warn']));
  expect(lost().filter((line) => JSON.stringify(line).length > 300)).toEqual([]);
  await useBoth(3);
  expect((await service.request('get', '/plants/export')).status).toBe(200);
});

test('the check of durability warns again after an hour, and goes on after it has failed', async () => {
  const service = await start();
  const check = async () => (await service.agent.get('/readyz')).status;
  const warnings = () => service.log.filter(({ msg }) => msg.startsWith('PostgreSQL can lose confirmed plants')).length;
  expect([await check(), await check(), warnings()]).toEqual([200, 200, 1]);
  await service.database.query('ALTER TABLE _prisma_migrations RENAME TO away');
  expect(await check()).toBe(503);
  await service.database.query('ALTER TABLE away RENAME TO _prisma_migrations');
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + HOUR);
  expect([await check(), await check(), warnings()]).toEqual([200, 200, 2]);
});

describe('a client that reads nothing of its response', () => {
  test('is disconnected after REQUEST_TIMEOUT, and no other', async () => {
    const service = await start({ REQUEST_TIMEOUT: '2' }, { requestLimits: patientLimits });
    // Twice what Linux sends at most before its reader takes any (tcp_wmem).
    await service.database.query("INSERT INTO plants (id, name) VALUES (1, repeat('x', 8388608))");
    const open = async () => {
      const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
      socket.on('error', () => {});
      const read = `GET /plants/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nConnection: close\r\n\r\n`;
      socket.write(read);
      await once(socket, 'readable');
      return socket;
    };
    const stalled = await open();
    const explain = () => service.log.map((line) => JSON.stringify(line)).join('\n');
    await waitUntil('its end', () => service.log.some(({ msg }) => msg === 'request aborted'), { explain });
    stalled.destroy();
    let text = '';
    for await (const piece of (await open()).setEncoding('latin1')) text += piece;
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*x"\}$/);
    await expectServed(service, 2);
  });
});
