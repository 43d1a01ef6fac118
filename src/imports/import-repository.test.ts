import { describe, expect, test } from '@jest/globals';
import type { PoolStatements } from '../database/statements.ts';
import { createImportRepository } from './import-repository.ts';

const row = { line: 1, plant: { id: 1n, name: 'Fir' } };
const options = { onConflict: 'error', dryRun: false, atomic: false } as const;

/** @param answer whether a plain INSERT stores its rows, or its error */
const start = (answer: () => boolean | object = () => true) => {
  const sent: string[] = [];
  const query = async <Row>(sql: string) => {
    if (!/insert.*plants/i.test(sql)) return [];
    const isPlain = !sql.includes('ON CONFLICT');
    sent.push(isPlain ? 'plain' : 'ON CONFLICT');
    const stored = isPlain && answer();
    if (typeof stored === 'object') throw stored;
    return [{ stored, created: null }] as Row[];
  };
  const statements: PoolStatements = {
    hasSessions: true,
    begin: 'BEGIN',
    query,
    reserve: async () => ({ query, release: () => {} }),
    until: () => statements,
  };
  const repository = createImportRepository({
    statements,
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
  test('does so until an id is taken', async () => {
    let isFree = true;
    const { repository, sent } = start(() => isFree);
    const { store } = await repository.open(options);
    await store([row]);
    isFree = false;
    await store([row]);
    await store([row]);
    expect(sent).toEqual(['plain', 'plain', 'ON CONFLICT', 'ON CONFLICT']);
  });

  test('does so even if ids were taken in the one before', async () => {
    const { repository, sent } = start(() => false);
    for (let times = 0; times < 2; times++) await (await repository.open(options)).store([row]);
    expect(sent).toEqual(['plain', 'ON CONFLICT', 'plain', 'ON CONFLICT']);
  });

  test('repeats each of the statements that are in flight when an id is taken', async () => {
    const { repository, sent } = start(() => false);
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
