import { expect, test } from '@jest/globals';
import { importQuerySchema } from './import.ts';
import type { ImportSession } from './import-session.ts';
import { rowsAsValues } from './import-statements.ts';
import { storeRows } from './store-rows.ts';

const rows = { source: rowsAsValues([{ line: 1, plant: { id: 1n, name: 'Fir' } }]), count: 1, lastLine: 1, failed: 0 };

test.each(['40001', '40P01', '55P03'])('a transaction that fails with %s is tried again', async (code) => {
  let tries = 0;
  const session = {
    lockTimeout: 60_000,
    query: async (sql: string) => {
      if (sql === 'ROLLBACK') return { rows: [], rowCount: 0 };
      tries += 1;
      throw Object.assign(new Error(), { code: tries < 3 ? code : 'XX000' });
    },
  };
  const stored = storeRows(session as unknown as ImportSession, rows, importQuerySchema.parse({}));
  await expect(stored).rejects.toMatchObject({ code: 'XX000' });
});

test('a transaction that fails for another one is tried again for as long as it may wait for a lock, altogether', async () => {
  let tries = 0;
  const session = {
    lockTimeout: 1000,
    query: async (sql: string) => {
      if (sql === 'ROLLBACK') return { rows: [], rowCount: 0 };
      tries += 1;
      throw Object.assign(new Error(), { code: tries < 1000 ? '40001' : 'XX000' });
    },
  };
  await expect(storeRows(session as unknown as ImportSession, rows, importQuerySchema.parse({}))).rejects.toMatchObject(
    { code: '40001' },
  );
  expect(tries).toBeGreaterThan(1);
});
