import { hash } from 'node:crypto';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { Client } from 'pg';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { createPlantRepository } from '../../src/plants/plant-repository.ts';
import { createRateLimitRepository } from '../../src/tokens/rate-limit-repository.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { onCitus, unless } from '../support/skip.ts';
import { counts, numbered, useImports } from '../support/use-imports.ts';

// Statements that lock several rows do so in the order of their keys, so that those of two instances do not deadlock. Each test holds
// the first one of a statement that was given it last, and then takes others, which must still be free.
const { test } = unless(onCitus('rows of several nodes have no order'));

let other: Client;
let database: Database;
// Before the service drops the database.
afterEach(async () => {
  await other.end();
  await database.$disconnect();
});

const client = useImports();
beforeEach(async () => {
  await client.start();
  const { url } = client.service.database;
  other = new Client({ connectionString: url });
  await other.connect();
  // Less than the time after which PostgreSQL looks for a deadlock, of which either may be the victim.
  await other.query('SET lock_timeout = 300; BEGIN');
  const pool = createPool({ url, connections: 2, connectTimeout: 5000, statementTimeout: 60_000 });
  database = createDatabase({ pool, onConnectionLost: () => {} });
  // Its pool ends also if no statement was sent.
  await database.$queryRaw`SELECT 1`;
});

/** @param hold takes a row in the other transaction. @param statement locks these, in this order */
const expectInOrder = async <Key, Result>(
  [first, ...others]: [Key, ...Key[]],
  hold: (key: Key) => Promise<{ rowCount: number | null }>,
  statement: () => Promise<Result>,
  waitsFor: string,
): Promise<Result> => {
  await hold(first);
  const result = statement();
  await waitForBlocked(client.service.database, waitsFor);
  for (const key of others) await expect(hold(key)).resolves.toMatchObject({ rowCount: 1 });
  await other.query('ROLLBACK');
  return result;
};

test.each([10, 6000])('an import of %d rows', async (size) => {
  const hold = (id: number) => other.query(`INSERT INTO plants VALUES (${id}, 'Oak')`);
  const reversed = numbered(1, size).trimEnd().split('\n').toReversed().join('\n');
  const imported = await expectInOrder([1, size], hold, () => client.importPlants(reversed), 'INSERT INTO plants');
  expect(imported).toMatchObject({ status: 200, body: counts(size) });
});

test('counters of a rate limit', async () => {
  const keys = Array.from({ length: 20 }, (_, index) => `key ${String(index).padStart(2, '0')}`);
  const hold = (key: string) => other.query('INSERT INTO rate_limits (key, points, expire) VALUES ($1, 1, 0)', [key]);
  const count = () => createRateLimitRepository({ database, seconds: 60 })(keys.toReversed());
  expect(await expectInOrder(['key 00', ...keys.slice(1)], hold, count, 'rate_limits')).toHaveLength(20);
});

/** Keys with their plants, the largest first. */
const keyed = Array.from({ length: 20 }, (_, index) => hash('sha256', `test\n${index}`))
  .sort()
  .toReversed()
  .map((key, index) => ({ id: BigInt(index), name: 'Fir', keyed: { key, fingerprint: '00', onReplay: () => {} } }));
const [largest = '', smallest = ''] = [keyed.at(0)?.keyed.key, keyed.at(-1)?.keyed.key];
const INSERT = 'INSERT INTO idempotency_keys (key, fingerprint, status, expires_at)';

test('new Idempotency-Keys', async () => {
  const hold = (key: string) =>
    other.query(`${INSERT} VALUES (decode('${key}', 'hex'), '', 200, now() + interval '1 h')`);
  const store = () => createPlantRepository({ database, retention: 60_000 }).insert(keyed);
  const outcomes = await expectInOrder([smallest, largest], hold, store, 'idempotency_keys');
  expect(outcomes).toEqual(keyed.map(() => undefined));
});

test('expired Idempotency-Keys', async () => {
  for (const {
    keyed: { key },
  } of keyed)
    await client.service.database.query(`${INSERT} VALUES (decode('${key}', 'hex'), '', 200, now() - interval '1 h')`);
  const hold = (key: string) =>
    other.query(`SELECT FROM idempotency_keys WHERE key = decode('${key}', 'hex') FOR UPDATE`);
  const store = () => createPlantRepository({ database, retention: 60_000 }).insert(keyed);
  const outcomes = await expectInOrder([smallest, largest], hold, store, 'DELETE FROM idempotency_keys');
  expect(outcomes).toEqual(keyed.map(() => undefined));
});
