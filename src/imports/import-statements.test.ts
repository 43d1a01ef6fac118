import { expect, test } from '@jest/globals';
import type { Statements } from '../database/statements.ts';
import { createInsertUntilTaken } from './import-statements.ts';

const rows = [{ id: 1n, name: 'Fir' }];

/** @param refuse the error of a statement, if it fails */
const start = (refuse: (sql: string) => object | undefined) => {
  const sent: string[] = [];
  const database: Statements = {
    query: async <Row>(sql: string) => {
      sent.push(sql.includes('ON CONFLICT') ? 'ON CONFLICT' : 'plain');
      const error = refuse(sql);
      if (error) throw error;
      return [{ created: null }] as Row[];
    },
  };
  return { sent, store: createInsertUntilTaken(), database };
};

test('stores new rows without ON CONFLICT until an id is taken', async () => {
  let isTaken = false;
  const { sent, store, database } = start((sql) =>
    isTaken && !sql.includes('ON CONFLICT') ? { code: '23505' } : undefined,
  );
  await store(database, rows);
  isTaken = true;
  await store(database, rows);
  await store(database, rows);
  expect(sent).toEqual(['plain', 'plain', 'ON CONFLICT', 'ON CONFLICT']);
});

test('repeats each of the statements that are in flight when an id is taken', async () => {
  const { sent, store, database } = start((sql) => (sql.includes('ON CONFLICT') ? undefined : { code: '23505' }));
  await Promise.all([store(database, rows), store(database, rows)]);
  expect(sent).toEqual(['plain', 'plain', 'ON CONFLICT', 'ON CONFLICT']);
});

test('does not repeat a statement that failed for another reason: it may have stored the rows', async () => {
  const lost = { code: 'ECONNRESET' };
  const { sent, store, database } = start(() => lost);
  await expect(store(database, rows)).rejects.toBe(lost);
  expect(sent).toEqual(['plain']);
});
