import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readConfig } from '../../src/config/config.ts';
import { assertTimeLimits } from '../../src/database/check-databases.ts';
import { inspectDatabase } from '../../src/database/inspect-database.ts';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { createService } from '../../src/service.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const logger = pino({ level: 'silent' });
const database = useTestDatabase({ each: true });
let other: Server;
let takenPort: string;
beforeEach(async () => {
  other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  takenPort = String((other.address() as AddressInfo).port);
});
afterEach(() => {
  other.close();
});

const start = async (environment: Record<string, string>) => {
  const service = await createService({ config: readConfig(environment), databaseUrl: database.url, logger });
  // Opens a connection, which a failed start must close.
  await service.tokens.list();
  await service.start();
};

/** PostgreSQL needs a moment to end a session. The pool would close idle connections only after 10 s. */
const expectNoSessions = () =>
  waitUntil('the end of all sessions', async () => (await otherSessions(database)).length === 0, { patience: 5000 });

test('a port in use: start fails, and closes the metrics port and the database connections', async () => {
  const METRICS_PORT = String(await freePort());
  await expect(start({ PORT: takenPort, METRICS_PORT })).rejects.toThrow(/EADDRINUSE.*Set PORT or HOST/);
  await expect(fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).rejects.toThrow('fetch failed');
  await expectNoSessions();
});

test('a metrics port in use: start fails, and closes the database connections', async () => {
  await expect(start({ PORT: '0', METRICS_PORT: takenPort })).rejects.toThrow(/EADDRINUSE.*Set METRICS_PORT/);
  await expectNoSessions();
});

test('through a pooler, the role needs time limits that the service can use', async () => {
  const url = `${database.url.split('?')[0]}?pgbouncer=true`;
  const check = async (limit = 500) => assertTimeLimits({ url, ...(await inspectDatabase(url)) }, limit);
  const set = (setting: string) => database.administer(`ALTER DATABASE ${database.name} SET ${setting}`);
  await set('statement_timeout = 500');
  await set('lock_timeout = 1000');
  await check(500);
  await expect(check(499)).rejects.toThrow('they must be 1 to 499 ms and 1 to 1000 ms');
  await set('lock_timeout = 1001');
  await expect(check()).rejects.toThrow('a statement_timeout of 500 ms and a lock_timeout of 1001 ms.');
  await set('lock_timeout = 0');
  await expect(check()).rejects.toThrow('a lock_timeout of 0 ms.');
  await set('lock_timeout = 400');
  await check();
  await set('statement_timeout = 0');
  await expect(check()).rejects.toThrow('a statement_timeout of 0 ms');
});
