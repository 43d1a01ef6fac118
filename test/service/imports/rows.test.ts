import { beforeEach, describe, expect, test } from '@jest/globals';
import { onCitus, testUnless } from '../../support/skip.ts';
import { counts, lines, numbered, useImports } from '../../support/use-imports.ts';

const noIndex = onCitus('no other unique index is possible');

const client = useImports();
const { start, importPlants, stored, count } = client;

describe('advice', () => {
  test('for a wrong header row is to correct the file', async () => {
    const { status, body } = await importPlants('id|name\n1|Fir', { type: 'text/csv' });
    expect([status, body]).toEqual([
      400,
      {
        error: 1003,
        message:
          'The header row is "id|name", which lacks id and name. It must be like id,name,tag, in any order, separated by ' +
          'commas, semicolons or tabs. Nothing is stored.',
      },
    ]);
  });
});

describe('a row', () => {
  test('fails with the same error as POST /plants, and the others are stored', async () => {
    await client.service.post({ id: 1, name: 'Fir' });
    const { status, text, body } = await importPlants(
      [
        '{"id":9223372036854775807,"name":7}',
        '{"id":2,"name":"Yew"}',
        '',
        '{"id":1,"name":"Fir"}',
        'nonsense',
        '{"id":9223372036854775808,"name":"Fir"}',
        '{"id":3,"name":"\\u0000"}',
      ].join('\n'),
    );
    expect([status, body]).toMatchObject([200, counts(1, 0, 0, 5)]);
    expect(body.errors).toMatchObject([
      { line: 1, error: 1003, message: 'name must be a string, not 7.' },
      { line: 4, id: 1, error: 1004, message: 'The id 1 is taken.' },
      { line: 5, error: 1000 },
      { line: 6, error: 1003 },
      { line: 7, id: 3, error: 1003 },
    ]);
    expect(text).toContain('{"line":1,"id":9223372036854775807,');
    expect(body.errors.map((error) => 'id' in error)).toEqual([true, true, false, false, true]);
  });

  test('that PostgreSQL rejects fails alone', async () => {
    await start();
    await client.service.database.query("ALTER TABLE plants ADD CHECK (name <> 'refused')");
    const rows = `${numbered(1, 3000)}{"id":3001,"name":"refused"}\n${numbered(3002, 6000)}`;
    const { body } = await importPlants(rows);
    expect(body).toMatchObject({
      ...counts(5999, 0, 0, 1),
      errors: [{ line: 3001, id: 3001, error: 1003, message: 'The database rejected the plant.' }],
    });
    const again = await importPlants('{"id":9001,"name":"x"}\n{"id":9002,"name":"refused"}', { query: '?atomic=true' });
    expect(again).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 2, id: 9002 }] } });
    expect(await count()).toBe(5999);
  });

  testUnless(
    noIndex,
    'that violates a unique index of its own fails alone, and not because its id is taken',
    async () => {
      await start();
      await client.service.database.query('CREATE UNIQUE INDEX ON plants (name)');
      const { body } = await importPlants(
        lines({ id: 1, name: 'Fir' }, { id: 2, name: 'Fir' }, { id: 3, name: 'Yew' }),
      );
      expect(body).toMatchObject({ ...counts(2, 0, 0, 1), errors: [{ line: 2, id: 2, error: 1003 }] });
    },
  );
});

describe('an id that is taken', () => {
  beforeEach(async () => {
    await importPlants(lines({ id: 1, name: 'Fir', tag: 'Abies' }, { id: 2, name: 'Yew' }));
  });
  const file = lines({ id: 1, name: 'Elm' }, { id: 3, name: 'Oak' }, { id: 2, name: 'Yew' });

  test.each(['', '?onConflict=error'])('is a failed row: %s', async (query) => {
    const { status, body } = await importPlants(file, { query });
    expect([status, body]).toMatchObject([200, { ...counts(1, 0, 0, 2), errors: [{ line: 1 }, { line: 3 }] }]);
    expect(await stored()).toEqual([
      ['1', 'Fir', 'Abies'],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });

  test('does not close the connection to PostgreSQL', async () => {
    await start();
    const connections = () =>
      client.service.database.query(
        'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    await importPlants(lines({ id: 4, name: 'Oak' }));
    const before = await connections();
    for (let times = 0; times < 5; times++) await importPlants(lines({ id: 4, name: 'Oak' }));
    expect(await connections()).toEqual(expect.arrayContaining(before));
  });

  test('is skipped', async () => {
    const { body } = await importPlants(file, { query: '?onConflict=skip' });
    expect(body).toEqual({ ...counts(1, 0, 2), errors: [] });
    expect(await stored()).toEqual([
      ['1', 'Fir', 'Abies'],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });

  test('is replaced, and a tag that is left out is removed', async () => {
    const { body } = await importPlants(file, { query: '?onConflict=replace' });
    expect(body).toEqual({ ...counts(1, 2), errors: [] });
    expect(await stored()).toEqual([
      ['1', 'Elm', null],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });
});

describe('an id that occurs twice in an import', () => {
  // Within a slice, and in others.
  const file = `${numbered(1, 100)}{"id":7,"name":"second"}\n${numbered(101, 3000)}{"id":7,"name":"third"}\n${numbered(3001, 6000)}{"id":5999,"name":"second"}\n`;

  test.each([
    ['error', counts(6000, 0, 0, 3), [101, 3002, 6003]],
    ['skip', counts(6000, 0, 3, 0), []],
    ['replace', counts(6000, 0, 0, 3), [101, 3002, 6003]],
  ])('is stored as in its first row: onConflict=%s', async (onConflict, expected, failed) => {
    for (const query of [`?onConflict=${onConflict}&dryRun=true`, `?onConflict=${onConflict}`]) {
      const { body } = await importPlants(file, { query });
      expect(body).toMatchObject({ ...expected, errors: failed.map((line) => ({ line, error: 1004 })) });
    }
    expect(await stored()).toContainEqual(['7', 'Fir 7', null]);
    expect(await stored()).toContainEqual(['5999', 'Fir 5999', null]);
  });

  test('and is replaced, once', async () => {
    await importPlants(lines({ id: 7, name: 'before' }));
    const { body } = await importPlants(file, { query: '?onConflict=replace' });
    expect(body).toMatchObject(counts(5999, 1, 0, 3));
    expect(await client.service.stored('7')).toMatchObject({ name: 'Fir 7' });
  });
});

describe('dryRun', () => {
  beforeEach(async () => {
    await importPlants(lines({ id: 1, name: 'Fir' }));
  });

  test.each([
    ['error', counts(2, 0, 0, 3)],
    ['skip', counts(2, 0, 2, 1)],
    ['replace', counts(2, 1, 0, 2)],
  ])('responds as the import would, and stores nothing: onConflict=%s', async (onConflict, expected) => {
    const file = lines(
      { id: 1, name: 'Elm' },
      { id: 2, name: 'Yew' },
      { id: 3 },
      { id: 4, name: 'Oak' },
      { id: 2, name: 'x' },
    );
    const dry = await importPlants(file, { query: `?dryRun=true&onConflict=${onConflict}` });
    expect([dry.status, dry.body]).toMatchObject([200, expected]);
    expect(await count()).toBe(1);
    const wet = await importPlants(file, { query: `?onConflict=${onConflict}` });
    expect({ ...wet.body, errors: [] }).toEqual({ ...dry.body, errors: [] });
  });

  test('with atomic', async () => {
    const dry = await importPlants(numbered(2, 5000), { query: '?dryRun=true&atomic=true' });
    expect(dry).toMatchObject({ status: 200, body: counts(4999) });
    const taken = await importPlants(numbered(1, 5000), { query: '?dryRun=true&atomic=true' });
    expect(taken).toMatchObject({ status: 400, body: counts(0, 0, 0, 1) });
    expect(await count()).toBe(1);
  });
});
