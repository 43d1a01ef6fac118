import { describe, expect, test } from '@jest/globals';
import { createImportRepository } from './import-repository.ts';

const row = { line: 1, plant: { id: 1n, name: 'Fir' } };
const options = { onConflict: 'error', dryRun: false, atomic: false } as const;

/** @param refuse the error of an INSERT, if it fails */
const start = (refuse: (sql: string) => object | undefined = () => undefined) => {
  const sent: string[] = [];
  const query = async <Row>(sql: string) => {
    if (!sql.includes('INSERT INTO plants')) return [];
    sent.push(sql.includes('ON CONFLICT') ? 'ON CONFLICT' : 'plain');
    const error = refuse(sql);
    if (error) throw error;
    return [{ created: null }] as Row[];
  };
  const repository = createImportRepository({
    statements: { hasSessions: true, begin: 'BEGIN', query, reserve: async () => ({ query, release: () => {} }) },
  });
  return { repository, sent };
};

test.each([
  [{ onConflict: 'error' } as const, 'plain'],
  [{ onConflict: 'skip' } as const, 'ON CONFLICT'],
  [{ onConflict: 'error', atomic: true } as const, 'ON CONFLICT'],
])('inserts with ON CONFLICT if ids may be taken, or in a transaction: %j: %s', async (changed, expected) => {
  const { repository, sent } = start();
  const writer = await repository.open({ ...options, ...changed });
  await writer.store([row]);
  expect(sent).toEqual([expected]);
});

describe('an import that stores new rows without ON CONFLICT', () => {
  const taken = (sql: string) => (sql.includes('ON CONFLICT') ? undefined : { code: '23505' });

  test('does so until an id is taken', async () => {
    let isTaken = false;
    const { repository, sent } = start((sql) => (isTaken ? taken(sql) : undefined));
    const { store } = await repository.open(options);
    await store([row]);
    isTaken = true;
    await store([row]);
    await store([row]);
    expect(sent).toEqual(['plain', 'plain', 'ON CONFLICT', 'ON CONFLICT']);
  });

  test('does so even if ids were taken in the one before', async () => {
    const { repository, sent } = start(taken);
    for (let times = 0; times < 2; times++) await (await repository.open(options)).store([row]);
    expect(sent).toEqual(['plain', 'ON CONFLICT', 'plain', 'ON CONFLICT']);
  });

  test('repeats each of the statements that are in flight when an id is taken', async () => {
    const { repository, sent } = start(taken);
    const { store } = await repository.open(options);
    await Promise.all([store([row]), store([row])]);
    expect(sent).toEqual(['plain', 'plain', 'ON CONFLICT', 'ON CONFLICT']);
  });

  test('does not repeat a statement that failed for another reason: it may have stored the rows', async () => {
    const { repository, sent } = start(() => ({ code: 'ECONNRESET' }));
    const { store } = await repository.open(options);
    expect(await store([row])).toMatchObject([{ name: 'OutcomeUnknownError' }]);
    expect(sent).toEqual(['plain']);
  });
});
