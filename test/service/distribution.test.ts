import { expect, test } from '@jest/globals';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { createDistributionCheck, isDistributed } from '../../src/database/distribution.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { distribute, psqlObstacle } from '../support/psql.ts';
import { isOnCitus, onCitus, testUnless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase();

test('knows whether plants is distributed, also without Citus', async () => {
  expect(await isDistributed(database.query)).toBe(isOnCitus);
});

testUnless(onCitus('it is installed') ?? psqlObstacle(), 'without Citus, says what to install', async () => {
  await expect(distribute(database.url)).rejects.toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /This database does not have the extension Citus\.\nHINT: .*shared_preload_libraries.*CREATE EXTENSION citus\n/,
    ),
  });
});

test('asks once, and again if the database could not be asked', async () => {
  let asked = 0;
  const check = createDistributionCheck(async () => {
    asked += 1;
    if (asked === 1) throw new Error('away');
    return [];
  });
  await expect(check()).rejects.toThrow('away');
  expect(await Promise.all([check(), check()])).toEqual([false, false]);
  expect([await check(), asked]).toEqual([false, 2]);
});

test('PostgreSQL keeps no statement that has a text for each number of rows', async () => {
  const pool = createPool({ url: database.url, connections: 1, connectTimeout: 5000, statementTimeout: 5000 });
  const client = createDatabase({ pool, onConnectionLost: () => {} });
  try {
    const kept = async () =>
      Number(
        (await client.$queryRawUnsafe<{ count: bigint }[]>('SELECT count(*) FROM pg_prepared_statements'))[0]?.count,
      );
    await client.$queryRaw`/* one */ SELECT ${1}::int`;
    const before = await kept();
    for (let rows = 20; rows < 60; rows++)
      await client.$queryRaw`SELECT 1 WHERE 1 IN (${Prisma.join(Array.from({ length: rows }, (_, index) => index))})`;
    expect(before).toBeGreaterThan(0);
    expect(await kept()).toBe(before);
  } finally {
    await client.$disconnect();
  }
});
