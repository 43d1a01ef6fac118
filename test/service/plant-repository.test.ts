import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { type Preconditions, plantUnknown, preconditionFailed } from '../../src/plants/plant.ts';
import { createPlantRepository, type PlantRepository } from '../../src/plants/plant-repository.ts';
import { entityTag } from '../../src/plants/plant-representation.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

let database: Database;
// Before the test database is dropped.
afterAll(() => database.$disconnect());
const testDatabase = useTestDatabase();
let repository: PlantRepository;
beforeAll(() => {
  const pool = createPool({ url: testDatabase.url, connections: 2, connectTimeout: 5000, statementTimeout: 10_000 });
  database = createDatabase({ pool, onConnectionLost: () => {} });
  repository = createPlantRepository({ database, retention: 1 });
});

beforeEach(() => testDatabase.query('TRUNCATE plants'));

const insert = (id: number, name: string, tag: string | null | undefined = null) =>
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

  test.each(asRead)('%s: is not updated', async (_title, plant, tag = 'x') => {
    await insert(1, 'Fir', tag);
    const preconditions = { ifMatch: [entityTag(plant)] };
    await expect(repository.change({ id: 1n, change: { name: 'Oak' }, preconditions })).rejects.toThrow(
      preconditionFailed(1n, preconditions),
    );
    await expect(repository.change({ id: 2n, change: { name: 'Oak' }, preconditions })).rejects.toThrow(
      plantUnknown(2n),
    );
    expect(await stored()).toEqual([['Fir', tag]]);
  });

  test.each(asRead)('%s: is not deleted', async (_title, plant, tag = 'x') => {
    await insert(1, 'Fir', tag);
    const preconditions = { ifMatch: [entityTag(plant)] };
    await expect(repository.change({ id: 1n, change: 'delete', preconditions })).rejects.toThrow(
      preconditionFailed(1n, preconditions),
    );
    await expect(repository.change({ id: 2n, change: 'delete', preconditions })).rejects.toThrow(plantUnknown(2n));
    expect(await stored()).toEqual([['Fir', tag]]);
  });
});

describe('a plant that changes between the statement and the look at why it found none', () => {
  const plant = { name: 'Fir', tag: undefined };
  /** A repository whose first statement is followed by `sql` of another client. */
  const followedBy = (sql: string) => {
    let isFirst = true;
    const $queryRaw = async (...statement: Parameters<Database['$queryRaw']>) => {
      const rows = await database.$queryRaw(...statement);
      if (isFirst) await testDatabase.query(sql);
      isFirst = false;
      return rows;
    };
    const watched = { ...database, $queryRaw } as unknown as Database;
    return createPlantRepository({ database: watched, retention: 1 }).change;
  };

  test('meets the preconditions only then: is changed', async () => {
    await insert(1, 'Fir');
    const change = followedBy("UPDATE plants SET name = 'Yew'");
    expect(
      await change({ id: 1n, change: { name: 'Oak' }, preconditions: { ifNoneMatch: [entityTag(plant)] } }),
    ).toMatchObject({ name: 'Oak' });
  });

  test('is created: is changed', async () => {
    const change = followedBy("INSERT INTO plants VALUES (1, 'Fir')");
    expect(
      await change({ id: 1n, change: { name: 'Oak' }, preconditions: { ifMatch: [entityTag(plant)] } }),
    ).toMatchObject({ name: 'Oak' });
  });

  test('is deleted: there is none', async () => {
    await insert(1, 'Fir');
    const change = followedBy('DELETE FROM plants');
    await expect(
      change({ id: 1n, change: 'delete', preconditions: { ifNoneMatch: [entityTag(plant)] } }),
    ).rejects.toThrow(plantUnknown(1n));
  });
});

describe('PostgreSQL and the store compute the same version', () => {
  const texts = [
    '',
    'Fir',
    '\\',
    '\\\\',
    '\\x41',
    '\\000',
    "'",
    '"',
    '木',
    '🌲',
    '\u{10FFFF}',
    '\u0001\t\n\r',
    '{}',
    'x'.repeat(100_000),
  ];
  const plants = texts.flatMap((name) => [undefined, ...texts].map((tag) => ({ name, tag })));

  test('of a plant with any name and tag', async () => {
    for (const { name, tag } of plants) {
      await insert(1, name, tag);
      await repository.change({
        id: 1n,
        change: { name: 'changed' },
        preconditions: { ifMatch: [entityTag({ name, tag })] },
      });
      await repository.change({ id: 1n, change: 'delete', preconditions: { ifNoneMatch: [entityTag({ name, tag })] } });
    }
    expect(new Set(plants.map(entityTag)).size).toBe(plants.length);
  });
});

describe('preconditions', () => {
  const [current, other] = [entityTag({ name: 'Fir', tag: 'x' }), entityTag({ name: 'Yew', tag: undefined })];
  test.each<[string, Preconditions, boolean]>([
    ['none', {}, true],
    ['one of several tags', { ifMatch: [other, current] }, true],
    ['no tag', { ifMatch: [] }, false],
    ['tags that no plant has', { ifMatch: ['"x"', current.toLowerCase(), `"${'A'.repeat(42)}B"`] }, false],
    ['tags that must not match', { ifNoneMatch: [other, '"x"'] }, true],
    ['no tag that must not match', { ifNoneMatch: [] }, true],
    ['a tag that must not match', { ifNoneMatch: [other, current] }, false],
    ['no plant', { ifNoneMatch: '*' }, false],
    ['both, of which one fails', { ifMatch: [current], ifNoneMatch: [current] }, false],
  ])('%s', async (_title, preconditions, isMet) => {
    await insert(1, 'Fir', 'x');
    const outcome = repository.change({ id: 1n, change: {}, preconditions }).then(
      () => true,
      () => false,
    );
    expect(await outcome).toBe(isMet);
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
    const shown = [...found].map(([id, plant]) =>
      plant === 'long' ? [id, plant] : [id, plant.name.length, plant.tag],
    );
    expect(shown.sort()).toEqual([
      [1n, 16_384, undefined],
      [2n, 'long'],
      [3n, 5461, 'x'],
      [4n, 'long'],
      [5n, 'long'],
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

  test('find returns a long plant', async () => {
    const name = '木'.repeat(300_000);
    await insert(1, name, 'x');
    expect(await repository.find(1n)).toEqual({ id: 1n, name, tag: 'x' });
    await expect(repository.find(2n)).rejects.toThrow(plantUnknown(2n));
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
    [1023, true],
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
