import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { createPlantRepository, type PlantRepository } from '../../src/plants/plant-repository.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

let database: Database;
// Before the test database is dropped.
afterAll(() => database.$disconnect());
const testDatabase = useTestDatabase();
let repository: PlantRepository;
beforeAll(() => {
  const pool = createPool({ url: testDatabase.url, connections: 2, connectTimeout: 5000, statementTimeout: 10_000 });
  database = createDatabase({ pool, onConnectionLost: () => {} });
  repository = createPlantRepository({ database });
});

beforeEach(() => testDatabase.query('TRUNCATE plants'));

const insert = (id: number, name: string, tag: string | null = null) =>
  testDatabase.query('INSERT INTO plants VALUES ($1, $2, $3)', [id, name, tag]);
const stored = async () =>
  (await testDatabase.query('SELECT name, tag FROM plants')).map(({ name, tag }) => [name, tag]);

describe('a plant that was changed since it was read', () => {
  const asRead: [string, { name: string; tag: string | undefined }, (string | null)?][] = [
    ['got a tag', { name: 'Fir', tag: undefined }],
    ['got an empty tag', { name: 'Fir', tag: undefined }, ''],
    ['lost its tag', { name: 'Fir', tag: 'x' }, null],
    ['got another tag', { name: 'Fir', tag: 'y' }],
    ['got another name', { name: 'Yew', tag: 'x' }],
  ];

  test.each(asRead)('%s: is not updated', async (_title, expected, tag = 'x') => {
    await insert(1, 'Fir', tag);
    expect(await repository.update(1n, { name: 'Oak' }, { id: 1n, ...expected })).toBeUndefined();
    expect(await stored()).toEqual([['Fir', tag]]);
  });

  test.each(asRead)('%s: is not deleted', async (_title, expected, tag = 'x') => {
    await insert(1, 'Fir', tag);
    expect(await repository.delete(1n, { id: 1n, ...expected })).toBe(false);
    expect(await stored()).toEqual([['Fir', tag]]);
  });

  test.each(['x', '', null])('with the tag %j that was read: is updated and deleted', async (tag) => {
    await insert(1, 'Fir', tag);
    const expected = { id: 1n, name: 'Fir', tag: tag ?? undefined };
    expect(await repository.update(1n, {}, expected)).toEqual(expected);
    expect(await repository.delete(1n, expected)).toBe(true);
    expect(await stored()).toEqual([]);
  });
});

describe('findByIds', () => {
  test('returns plants with up to 16 KiB of name and tag, and only reports that longer ones exist', async () => {
    await insert(1, 'x'.repeat(16_384));
    await insert(2, 'x'.repeat(16_385));
    // In bytes, of both together.
    await insert(3, '木'.repeat(5461), 'x');
    await insert(4, '木'.repeat(5461), 'xx');
    await insert(5, '', 'x'.repeat(20_000));
    const found = await repository.findByIds([1n, 2n, 3n, 4n, 5n, 6n]);
    const shown = [...found].map(([id, plant]) => [id, plant?.name.length, plant?.tag]);
    expect(shown.sort()).toEqual([
      [1n, 16_384, undefined],
      [2n, undefined, undefined],
      [3n, 5461, 'x'],
      [4n, undefined, undefined],
      [5n, undefined, undefined],
    ]);
  });

  test('returns an empty name and an empty tag', async () => {
    await insert(1, '', '');
    await insert(2, '');
    const found = await repository.findByIds([1n, 2n]);
    expect([found.get(1n), found.get(2n)]).toEqual([
      { id: 1n, name: '', tag: '' },
      { id: 2n, name: '', tag: undefined },
    ]);
  });

  test('findLong returns a long plant', async () => {
    const name = '木'.repeat(300_000);
    await insert(1, name, 'x');
    expect(await repository.findLong(1n)).toEqual({ id: 1n, name, tag: 'x' });
    expect(await repository.findLong(2n)).toBeUndefined();
  });
});

describe('list', () => {
  test.each([999, 1000, 1001, 1002])(
    'a page of 1000 out of %d plants reports whether there are more',
    async (count) => {
      await testDatabase.query(`INSERT INTO plants SELECT i, 'Fir' FROM generate_series(1, ${count}) i`);
      const [page] = await repository.list([{ limit: 1000 }]);
      expect([page?.ids.at(-1), page?.hasNext]).toEqual([`${Math.min(count, 1000)}`, count > 1000]);
    },
  );

  test.each([
    [1024, true],
    [1025, false],
  ])('returns a plant of %d bytes: %j', async (bytes, isShown) => {
    await insert(1, 'x'.repeat(bytes - 1), 'x');
    const [page] = await repository.list([{ limit: 10 }]);
    expect(page !== undefined).toBe(isShown);
  });
});

describe('search', () => {
  test('cuts a page at 1 MiB of names and tags', async () => {
    const half = 'x'.repeat(524_288);
    for (const id of [1, 2, 3]) await insert(id, half.slice(1), 'x');
    const page = await repository.search({ limit: 10 });
    expect([page.ids.at(-1), page.hasNext, page.isCut]).toEqual(['2', true, true]);
    await testDatabase.query("UPDATE plants SET name = name || 'x' WHERE id = 2");
    expect((await repository.search({ limit: 10 })).ids.at(-1)).toBe('1');
  });

  test('returns at least one plant', async () => {
    await insert(1, 'x'.repeat(5_000_000));
    await insert(2, 'x');
    const page = await repository.search({ limit: 10 });
    expect([page.ids.at(-1), page.hasNext]).toEqual(['1', true]);
  });
});
