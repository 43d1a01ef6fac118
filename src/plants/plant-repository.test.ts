import { expect, test } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { OutcomeUnknownError } from '../database/database-error.ts';
import { firstsById } from './insert-plants.ts';
import { idTaken, plantUnknown } from './plant.ts';
import { createPlantRepository } from './plant-repository.ts';

test('the first plant of each id is stored, and ids in order, so that concurrent statements do not deadlock', () => {
  const plants = [3n, -1n, 3n, 20n].map((id, index) => ({ id, name: `${index}` }));
  expect(firstsById(plants).map(({ id, name }) => [id, name])).toEqual([
    [-1n, '1'],
    [3n, '0'],
    [20n, '3'],
  ]);
});

test('what PostgreSQL returns counts, not how many rows it reports', async () => {
  // Citus reports a row that ON CONFLICT skipped.
  const results = { $queryRawUnsafe: async () => [], $queryRaw: async () => [], $executeRaw: async () => 1 };
  const database = results as unknown as Database;
  const repository = createPlantRepository({ database, retention: 1 });
  expect(await repository.insert([{ id: 1n, name: 'Fir' }])).toEqual([idTaken(1n)]);
  await expect(repository.change({ id: 1n, change: 'delete' })).rejects.toThrow(plantUnknown(1n));
  await expect(repository.change({ id: 1n, change: { name: 'Yew' } })).rejects.toThrow(plantUnknown(1n));
});

test('a keyed write that was canceled while nobody can say whether this is Citus may have been made', async () => {
  const fail = async () => Promise.reject(Object.assign(new Error('canceled'), { code: '57014' }));
  const database = { $queryRawUnsafe: fail, $queryRaw: fail } as unknown as Database;
  const { insert } = createPlantRepository({ database, retention: 1 });
  const keyed = { key: '01', fingerprint: '02', onReplay: () => {} };
  expect(await insert([{ id: 1n, name: 'Fir', keyed }])).toEqual([expect.any(OutcomeUnknownError)]);
});

test('a key that a batch has many times is one statement, and the others have the response of the first', async () => {
  const statements: unknown[] = [];
  const $queryRaw = async (statement: unknown) => {
    statements.push(statement);
    return [{ created: '1', known: null }];
  };
  const database = { $queryRawUnsafe: async () => [], $queryRaw } as unknown as Database;
  const repository = createPlantRepository({ database, retention: 1 });
  const replayed: number[] = [];
  const plants = [1n, 1n, 2n, 2n, 3n].map((id, index) => ({
    id,
    name: 'Fir',
    keyed: { key: id === 3n ? '01' : `0${id}`, fingerprint: `0${id}`, onReplay: () => replayed.push(index) },
  }));
  const outcomes = await repository.insert(plants);
  expect(outcomes.map((outcome) => outcome?.name)).toEqual([undefined, undefined, 'idTaken', 'idTaken', 'keyReused']);
  expect([statements.length, replayed]).toEqual([1, [1, 3]]);
});

test('a batch with a key that others store each time is given up', async () => {
  let tries = 0;
  const $queryRaw = async () => {
    tries += 1;
    const message = 'duplicate key value violates unique constraint "idempotency_keys_pkey"';
    throw Object.assign(new Error(message), { code: tries < 100 ? '23505' : 'XX000' });
  };
  const database = { $queryRawUnsafe: async () => [], $queryRaw, $executeRaw: async () => 0 } as unknown as Database;
  const { insert } = createPlantRepository({ database, retention: 1 });
  const keyed = { key: '01', fingerprint: '02', onReplay: () => {} };
  expect(await insert([{ id: 1n, name: 'Fir', keyed }])).toEqual([expect.any(Error)]);
  expect(tries).toBe(5);
});

test.each([
  [4, 'changed'],
  [5, 'overloaded'],
])('a change whose plant differs %d times between its statements: %s', async (times, outcome) => {
  let left = times;
  const $queryRaw = async ({ sql }: { sql: string }) => {
    if (sql.trimStart().startsWith('SELECT')) return [{ isMet: true }];
    return left-- > 0 ? [] : [{ id: 1n, name: 'Yew', tag: null }];
  };
  const database = { $queryRawUnsafe: async () => [], $queryRaw: toSql($queryRaw) } as unknown as Database;
  const { change } = createPlantRepository({ database, retention: 1 });
  const changed = change({ id: 1n, change: { name: 'Yew' }, preconditions: { ifMatch: ['"x"'] } });
  expect(
    await changed.then(
      () => 'changed',
      ({ name }: Error) => name,
    ),
  ).toBe(outcome);
});

test.each([
  [1, 7],
  [2, '40P01'],
])(
  'a change of many plants that PostgreSQL ends %d times for a deadlock is sent once more: %s',
  async (times, outcome) => {
    let left = times;
    const $executeRaw = async () => {
      if (left-- > 0) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      return 7;
    };
    const database = { $queryRawUnsafe: async () => [], $executeRaw } as unknown as Database;
    const repository = createPlantRepository({ database, retention: 1 });
    const changed = repository.changeMany({ filter: { tag: 'x' } });
    expect(await changed.catch(({ code }) => code)).toBe(outcome);
    expect(left).toBe(times === 1 ? -1 : 0);
  },
);

/** Takes a template, or a statement, as Prisma does. */
const toSql =
  (query: (statement: { sql: string }) => Promise<unknown>) =>
  (first: TemplateStringsArray | { sql: string }): Promise<unknown> =>
    query('sql' in first ? first : { sql: first.join('') });
