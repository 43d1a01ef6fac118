import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { freePort } from './support/free-port.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';

let database: TestDatabase;
let other: Server;
let takenPort: string;
beforeEach(async () => {
  database = await createTestDatabase();
  other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  takenPort = String((other.address() as AddressInfo).port);
});
afterEach(async () => {
  other.close();
  await database.drop();
});

const start = async (environment: Record<string, string>) => {
  const logger = pino({ level: 'silent' });
  const service = await createService({ config: readConfig(environment), databaseUrl: database.url, logger });
  // A connection of the pool, for the start to close when it fails.
  await service.tokens.list();
  await service.start();
};

const connections = () =>
  database.query('SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()');

test('on a taken port lets go of the metrics port and of the connections to the database', async () => {
  const METRICS_PORT = String(await freePort());
  await expect(start({ PORT: takenPort, METRICS_PORT })).rejects.toThrow(/EADDRINUSE.*Set PORT or HOST/);
  await expect(fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).rejects.toThrow('fetch failed');
  expect(await connections()).toEqual([]);
});

test('on a taken metrics port lets go of the connections to the database', async () => {
  await expect(start({ PORT: '0', METRICS_PORT: takenPort })).rejects.toThrow(/EADDRINUSE.*Set METRICS_PORT/);
  expect(await connections()).toEqual([]);
});
