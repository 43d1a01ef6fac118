import { expect, test } from '@jest/globals';
import { createImportRepository } from './import-repository.ts';

const ids = Array.from({ length: 1000 }, (_, index) => BigInt(index));
const rows = ids.map((id) => ({ line: Number(id) + 1, plant: { id, name: 'Fir' } }));
const options = { onConflict: 'skip', dryRun: false, atomic: false } as const;

/**
 * @param created PostgreSQL created plants with these ids; null: with all
 * @param isTaken whether it rejects statements without ON CONFLICT
 */
const start = (created: bigint[] | null, { isTaken = false } = {}) => {
  const sent: string[] = [];
  const query = async <Row>(sql: string) => {
    sent.push(sql);
    if (isTaken && !sql.includes('ON CONFLICT')) throw { code: '23505' };
    return [{ created: created?.map(String) ?? null, fresh: ids.map(String) }] as Row[];
  };
  const repository = createImportRepository({
    shared: { query },
    openSession: async () => ({ query, close: async () => {} }),
  });
  return { repository, sent };
};

test.each([
  [{ onConflict: 'error' } as const, false],
  [{ onConflict: 'skip' } as const, true],
  [{ onConflict: 'error', atomic: true } as const, true],
])('inserts with ON CONFLICT if ids may be taken, or in a transaction: %j: %j', async (changed, isExpected) => {
  const { repository, sent } = start(null);
  const writer = await repository.open({ ...options, ...changed });
  await writer.store(rows);
  const insert = sent.find((sql) => sql.includes('INSERT INTO plants'));
  expect(insert?.includes('ON CONFLICT')).toBe(isExpected);
});

test('an import inserts without ON CONFLICT even if ids were taken in the one before', async () => {
  const { repository, sent } = start(null, { isTaken: true });
  for (let times = 0; times < 2; times++) {
    const writer = await repository.open({ ...options, onConflict: 'error' });
    await writer.store(rows);
  }
  expect(sent.map((sql) => sql.includes('ON CONFLICT'))).toEqual([false, true, false, true]);
});
