import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { DatabaseUnreachableError } from '../../src/database/database-error.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
const role = `limited_${process.pid}`;
let pool: ReturnType<typeof createPool>;

const setLimit = (limit: number) => database.administer(`ALTER ROLE ${role} CONNECTION LIMIT ${limit}`);
/** Sends statements at once. @returns how many succeeded, and the errors of the others */
const sendAll = async (count: number) => {
  const results = await Promise.allSettled(Array.from({ length: count }, () => pool.query('SELECT 1')));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  return { succeeded: count - errors.length, errors };
};

beforeAll(() => database.administer(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'`));
afterAll(() => database.administer(`DROP ROLE ${role}`));
beforeEach(() => {
  const url = Object.assign(new URL(database.url), { username: role, password: 'limited' }).href;
  pool = createPool({ url, connections: 10, connectTimeout: 5000, statementTimeout: 60_000 });
});
afterEach(() => pool.end());

const isOfCluster = onCitus('roles are of a cluster');

testUnless(
  isOfCluster,
  'all statements wait for the connections that there are, until PostgreSQL opens more',
  async () => {
    await setLimit(1);
    expect(await sendAll(1)).toMatchObject({ succeeded: 1 });
    expect(await sendAll(500)).toMatchObject({ succeeded: 500 });
    expect([pool.totalCount, pool.limit]).toEqual([1, 10]);
    await setLimit(3);
    await waitUntil('more connections', async () => {
      expect(await sendAll(100)).toMatchObject({ succeeded: 100 });
      return pool.totalCount === 3;
    });
    await setLimit(-1);
    await waitUntil('all connections', async () => {
      expect(await sendAll(100)).toMatchObject({ succeeded: 100 });
      return pool.totalCount === 10;
    });
  },
);

testUnless(isOfCluster, 'each statement fails if there is no connection', async () => {
  await setLimit(0);
  const { succeeded, errors } = await sendAll(100);
  expect(succeeded).toBe(0);
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnreachableError);
});

testUnless(
  isOfCluster,
  'sessions that PostgreSQL ends because they are idle fail no statement, and are no loss',
  async () => {
    await setLimit(-1);
    const lost: Error[] = [];
    createDatabase({ pool, onConnectionLost: (error) => lost.push(error) });
    await database.administer(`ALTER ROLE ${role} SET idle_session_timeout = '50ms'`);
    try {
      expect((await sendAll(10)).errors).toEqual([]);
      // This process does not notice their end before it sends the next statements.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      expect((await sendAll(10)).errors).toEqual([]);
      await waitUntil('their end', () => pool.totalCount === 0);
      expect(lost).toEqual([]);
    } finally {
      await database.administer(`ALTER ROLE ${role} RESET idle_session_timeout`);
    }
  },
);

testUnless(isOfCluster, 'each statement fails once the connections that there were have ended', async () => {
  pool.on('error', () => {});
  await setLimit(-1);
  expect(await sendAll(5)).toMatchObject({ succeeded: 5 });
  await setLimit(0);
  await database.administer(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '${role}'`);
  await waitUntil('their end', () => pool.totalCount === 0);
  const { succeeded, errors } = await sendAll(5);
  expect(succeeded).toBe(0);
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnreachableError);
});
