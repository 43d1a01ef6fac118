import { expect, test } from '@jest/globals';
import { importQuerySchema } from './import.ts';
import type { ImportSession } from './import-session.ts';
import { rowsAsValues } from './import-statements.ts';
import { storeRows } from './store-rows.ts';

const rows = { source: rowsAsValues([{ line: 1, plant: { id: 1n, name: 'Fir' } }]), count: 1, lastLine: 1, failed: 0 };

/** A session whose statements fail with `code` so often, and then for another reason. */
const failingSession = ({ code, times, lockTimeout }: { code: string; times: number; lockTimeout: number }) => {
  let tries = 0;
  const query = async (sql: string) => {
    if (sql === 'ROLLBACK') return { rows: [], rowCount: 0 };
    tries += 1;
    throw Object.assign(new Error(), { code: tries <= times ? code : 'XX000' });
  };
  return { session: { lockTimeout, query } as unknown as ImportSession, tries: () => tries };
};

test.each(['40001', '40P01', '55P03'])('a transaction that fails with %s is tried again', async (code) => {
  const { session } = failingSession({ code, times: 2, lockTimeout: 60_000 });
  await expect(storeRows(session, rows, importQuerySchema.parse({}))).rejects.toMatchObject({ code: 'XX000' });
});

test('a transaction that fails for another one is tried again for as long as it may wait for a lock, altogether', async () => {
  const { session, tries } = failingSession({ code: '40001', times: 999, lockTimeout: 1000 });
  await expect(storeRows(session, rows, importQuerySchema.parse({}))).rejects.toMatchObject({ code: '40001' });
  expect(tries()).toBeGreaterThan(1);
});
