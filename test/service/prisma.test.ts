import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { createPlantRepository } from '../../src/plants/plant-repository.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

// What Prisma, its adapter and pg do that the store does not want.

let database: Database;
// Before the test database is dropped.
afterAll(() => database.$disconnect());
const testDatabase = useTestDatabase();
beforeAll(() => {
  const pool = createPool({
    url: testDatabase.url,
    connections: 1,
    connectTimeout: 5000,
    statementTimeout: 10_000,
    lockTimeout: 100,
  });
  database = createDatabase({ pool, onConnectionLost: () => {} });
});

const MIB = 1_048_576;
const backend = async () => (await database.$queryRaw<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`)[0].pid;

test('the values of statements that are done take no memory', async () => {
  const { insert } = createPlantRepository({ database, retention: 1 });
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // Loads what is loaded on first use.
  await insert([{ id: 0n, name: 'Fir' }]);
  const before = used();
  for (let id = 1n; id <= 50n; id++) await insert([{ id, name: `${id}`.padEnd(MIB, '0') }]);
  // Prisma's notes alone would take 150 MiB.
  expect((used() - before) / MIB).toBeLessThan(25);
});

test('a statement with a row that PostgreSQL rejects keeps its connection', async () => {
  const pid = await backend();
  await expect(database.$queryRaw`SELECT 1 / 0`).rejects.toThrow('division by zero');
  expect(await backend()).toBe(pid);
});

test('a statement that waited too long for a lock keeps its connection', async () => {
  await database.$executeRaw`INSERT INTO plants VALUES (1000, 'Fir')`;
  const pid = await backend();
  const other = new Client({ connectionString: testDatabase.url });
  await other.connect();
  await other.query('BEGIN; DELETE FROM plants WHERE id = 1000');
  await expect(database.$executeRaw`DELETE FROM plants WHERE id = 1000`).rejects.toThrow('lock timeout');
  await other.end();
  expect(await backend()).toBe(pid);
});

test('a session that is read-only, as on a standby, is replaced once it refuses a write', async () => {
  await database.$queryRaw`SELECT set_config('default_transaction_read_only', 'on', false)`;
  const pid = await backend();
  const write = () => database.$executeRaw`DELETE FROM plants WHERE id = 1`;
  await expect(write()).rejects.toThrow('read-only transaction');
  await write();
  expect(await backend()).not.toBe(pid);
});

test('a connection that PostgreSQL ends is replaced', async () => {
  const pid = await backend();
  await expect(database.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`).rejects.toThrow(
    'terminating connection',
  );
  expect(await backend()).not.toBe(pid);
});
