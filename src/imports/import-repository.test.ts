import { expect, jest, test } from '@jest/globals';
import { OutcomeUnknownError } from '../database/database-error.ts';
import type { PoolStatements } from '../database/statements.ts';
import { createImportRepository } from './import-repository.ts';

const rows = [{ line: 1, plant: { id: 1n, name: 'Fir' } }];

/** Stores a row whose statement fails with `code`, on a table that is distributed or not. @returns its outcome */
const storeOn = async (distributed: unknown[] | Error, code: string, options: object = {}) => {
  const query = async (sql: string) => {
    if (!sql.includes('pg_dist_partition')) return [];
    if (distributed instanceof Error) throw distributed;
    return distributed;
  };
  const failing = async (sql: string) => {
    if (sql.includes('plants')) throw Object.assign(new Error('canceled'), { code });
    return [];
  };
  const statements = {
    query,
    hasSessions: true,
    begin: 'BEGIN',
    until: () => ({ query: failing, reserve: async () => ({ query: failing, release: () => {} }) }),
  };
  const repository = createImportRepository({ statements: statements as unknown as PoolStatements });
  const settings = { onConflict: 'error', dryRun: false, atomic: false, ...options } as const;
  const [outcome] = await (await repository.open(settings)).store(rows);
  return outcome;
};

test.each(['57014', 'XX000'])('a row may be stored if its statement fails with %s on Citus', async (code) => {
  for (const options of [{}, { onConflict: 'skip' }, { onConflict: 'replace' }])
    expect(await storeOn([{}], code, options)).toBeInstanceOf(OutcomeUnknownError);
  expect(await storeOn(new Error('lost'), code)).toBeInstanceOf(OutcomeUnknownError);
});

test('a row is not stored if PostgreSQL or a transaction undid its statement', async () => {
  expect(await storeOn([], '57014')).toMatchObject({ code: '57014' });
  expect(await storeOn([{}], '55P03')).toMatchObject({ code: '55P03' });
  expect(await storeOn([{}], '57014', { atomic: true })).toMatchObject({ code: '57014' });
});

test('an import whose session cannot be prepared gives back its connection', async () => {
  const release = jest.fn();
  const query = async () => {
    throw new Error('no');
  };
  const statements = {
    hasSessions: true,
    begin: 'BEGIN',
    until: () => ({ reserve: async () => ({ query, release }) }),
  };
  const repository = createImportRepository({ statements: statements as unknown as PoolStatements });
  const open = { onConflict: 'replace', dryRun: false, atomic: false } as const;
  await expect(repository.open(open)).rejects.toThrow('no');
  expect(release).toHaveBeenCalledTimes(1);
});
