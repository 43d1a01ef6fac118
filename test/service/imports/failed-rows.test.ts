import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { answerOf, counts, lines, numbered, useImports } from '../../support/use-imports.ts';

const client = useImports();
const { importPlants, openImport, count } = client;

test('lists a taken row and rows that the database rejects once each, the first in the order of lines', async () => {
  await client.start();
  await client.service.post({ id: 1, name: 'Fir' });
  await client.service.database.query("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')");
  const weeds = [2, 3, 4].map((id) => ({ id, name: 'weed' }));
  const { status, body } = await importPlants(lines({ id: 1, name: 'Yew' }, ...weeds), { query: '?maxErrors=2' });
  expect([status, body]).toMatchObject([400, { errors: [{ line: 1 }, { line: 2 }, { line: 3 }], stoppedAt: 3 }]);
});

describe('atomic', () => {
  test('stores all rows', async () => {
    const { status, body } = await importPlants(numbered(1, 10_000), { query: '?atomic=true' });
    expect([status, body]).toMatchObject([200, counts(10_000)]);
    expect(await count()).toBe(10_000);
  });

  test('stores none if one fails, and reports all failed rows', async () => {
    await client.service.post({ id: 5000, name: 'Fir' });
    const taken = await importPlants(numbered(1, 6000), { query: '?atomic=true' });
    expect(taken).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 5000, id: 5000 }] } });
    const both = await importPlants(`{"id":9}\n${numbered(4999, 5001)}`, { query: '?atomic=true' });
    expect(both).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 2), errors: [{ line: 1 }, { line: 3 }] } });
    expect(await count()).toBe(1);
  });

  test('with onConflict', async () => {
    await importPlants(numbered(1, 10));
    const skip = await importPlants(numbered(5, 2500), { query: '?atomic=true&onConflict=skip' });
    expect(skip).toMatchObject({ status: 200, body: counts(2490, 0, 6) });
    const replace = await importPlants(lines({ id: 1, name: 'Elm' }, { id: 9001, name: 'Oak' }), {
      query: '?atomic=true&onConflict=replace',
    });
    expect(replace).toMatchObject({ status: 200, body: counts(1, 1) });
    const twice = await importPlants(lines({ id: 1, name: 'Ash' }, { id: 9002, name: 'x' }, { id: 1, name: 'y' }), {
      query: '?atomic=true&onConflict=replace',
    });
    expect(twice).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 3, id: 1 }] } });
    expect(await client.service.stored('1')).toMatchObject({ name: 'Elm' });
    expect(await client.service.stored('9002')).toBeUndefined();
  });

  test('has the form of maxErrors if a row fails', async () => {
    await importPlants(numbered(1, 8000));
    const { status, body } = await importPlants(`{}\n${numbered(1, 9000)}`, { query: '?atomic=true&maxErrors=3' });
    expect([status, body]).toEqual([
      400,
      {
        ...counts(0, 0, 0, 8001),
        errors: [{ line: 1 }, ...[2, 3, 4].map((line) => ({ line, id: line - 1, error: 1004 }))].map(
          expect.objectContaining,
        ),
        stoppedAt: 4,
        error: 1004,
        message: 'The import stopped at line 4 because more than 3 rows failed. Nothing is stored.',
      },
    ]);
    const few = await importPlants('{"id":9001,"name":""}\n{}\n', { query: '?atomic=true' });
    const message = 'The import is atomic, and 1 row failed. Nothing is stored.';
    expect(few).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), stoppedAt: 2, error: 1003, message } });
    expect(await count()).toBe(8000);
  });

  test('counts only the rows that fail, if PostgreSQL rejects one', async () => {
    await client.service.database.query("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'Fir 3')");
    const refused = await importPlants(numbered(1, 8), { query: '?atomic=true' });
    await client.service.database.query('ALTER TABLE plants DROP CONSTRAINT no_weeds');
    const message = 'The import is atomic, and 1 row failed. Nothing is stored.';
    expect(refused).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), message } });
    expect(await count()).toBe(0);
  });

  test('has no limits of its own', async () => {
    const long = Array.from({ length: 20 }, (_, id) => `{"id":${id},"name":"${'x'.repeat(1_000_000)}"}\n`).join('');
    const { status, body } = await importPlants(long + numbered(101, 15_000), { query: '?atomic=true' });
    expect([status, body]).toMatchObject([200, counts(14_920)]);
  });
});

describe('maxErrors', () => {
  const half = (rows: number) =>
    Array.from({ length: rows }, (_, index) => (index % 2 ? `{"id":${index}}\n` : `{"id":${index},"name":""}\n`)).join(
      '',
    );

  test.each([0, 1, 100])('when more than %d rows fail, the import stops, and nothing is stored', async (maxErrors) => {
    const { status, body } = await importPlants(half(10_000), { query: `?maxErrors=${maxErrors}` });
    expect([status, body]).toMatchObject([
      400,
      { ...counts(0, 0, 0, maxErrors + 1), stoppedAt: 2 * maxErrors + 2, error: 1003 },
    ]);
    expect(body.errors).toHaveLength(maxErrors + 1);
    expect(body.errors.at(-1)).toMatchObject({ line: 2 * maxErrors + 2, id: 2 * maxErrors + 1, error: 1003 });
    expect(await count()).toBe(0);
  });

  test('is 1000 by default, inclusive', async () => {
    expect(await importPlants(half(2000))).toMatchObject({ status: 200, body: counts(1000, 0, 0, 1000) });
    expect(await importPlants(half(2002), { query: '?onConflict=skip' })).toMatchObject({ status: 400 });
    const most = await importPlants(half(20_000), { query: '?onConflict=replace&maxErrors=10000' });
    expect(most).toMatchObject({ status: 200, body: { failed: 10_000 } });
    expect(most.body.errors).toHaveLength(10_000);
    const over = await importPlants(half(20_002), { query: '?onConflict=skip&maxErrors=10000' });
    expect([over.status, over.body.failed, over.body.errors.length]).toEqual([400, 10_001, 10_001]);
    expect(over.body).toMatchObject({ stoppedAt: 20_002 });
  });

  const short = { 'Content-Length': '1000' };
  test.each([{}, short])('stops the import during the upload, and closes the connection: %j', async (headers) => {
    const request = openImport('?maxErrors=0', headers);
    request.write('{}\n');
    const [response] = (await request.responded) as [IncomingMessage];
    expect(response.headers.connection).toBe('close');
    expect(await answerOf(request)).toMatchObject({ status: 400, body: counts(0, 0, 0, 1) });
    if (!request.destroyed) await once(request, 'close');
  });

  test('with conflicts', async () => {
    await importPlants(numbered(1, 8000));
    const { status, body } = await importPlants(numbered(1, 9000), { query: '?maxErrors=10' });
    const message = 'The import stopped at line 11 because more than 10 rows failed. Nothing is stored.';
    expect([status, body]).toMatchObject([400, { ...counts(0, 0, 0, 8000), stoppedAt: 11, error: 1004, message }]);
    expect(body.errors.map((error) => (error as { line: number }).line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(client.service.log.findLast(({ msg }) => msg === 'import ended')).toMatchObject({
      outcome: 'refused',
      stoppedAt: 11,
    });
  });

  test('lists the first rows that fail also if PostgreSQL rejects some, and others are wrong', async () => {
    await client.service.database.query("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name NOT LIKE 'Weed%')");
    const rows = lines({ id: 1, name: 'Weed' }, { id: 2, name: 'Weed' }, {}, { id: 3, name: 'Fir' });
    const { body } = await importPlants(rows, { query: '?maxErrors=1' });
    await client.service.database.query('ALTER TABLE plants DROP CONSTRAINT no_weeds');
    expect(body).toMatchObject({ stoppedAt: 2, error: 1003, errors: [{ line: 1 }, { line: 2 }] });
  });

  test('counts wrong rows and taken ids alike, in the order of lines', async () => {
    await importPlants(numbered(1, 6000));
    // Every third id is taken, every hundredth row is wrong, and the last row repeats an id.
    const rows = Array.from({ length: 9000 }, (_, index) =>
      (index + 1) % 100 === 0 ? '{}\n' : `{"id":${index % 3 === 0 ? index / 3 + 1 : 10_000 + index},"name":""}\n`,
    );
    const failing = [...rows.keys()].filter((index) => (index + 1) % 100 === 0 || index % 3 === 0);
    const linesOf = (errors: object[]) => errors.map((error) => (error as { line: number }).line);
    const file = `${rows.join('')}{"id":10001,"name":"x"}\n`;
    const refused = await importPlants(file, { query: '?maxErrors=500' });
    expect([refused.status, linesOf(refused.body.errors)]).toEqual([
      400,
      failing.slice(0, 501).map((index) => index + 1),
    ]);
    const { body } = await importPlants(file, { query: '?maxErrors=10000' });
    expect(body).toMatchObject(counts(9000 - failing.length, 0, 0, failing.length + 1));
    expect(linesOf(body.errors)).toEqual([...failing.map((index) => index + 1), 9001]);
    expect(body.errors.at(-1)).toMatchObject({ message: 'The id 10001 occurs earlier in this import.' });
  });
});

test('an import of which PostgreSQL rejects too many rows ends at the one too many', async () => {
  await client.service.database.query("ALTER TABLE plants ADD CONSTRAINT no_firs CHECK (name NOT LIKE 'Fir%')");
  try {
    const { status, body } = await importPlants(numbered(1, 300), { query: '?maxErrors=2' });
    expect([status, body]).toMatchObject([400, { ...counts(0, 0, 0, 3), stoppedAt: 3 }]);
  } finally {
    await client.service.database.query('ALTER TABLE plants DROP CONSTRAINT no_firs');
  }
});

test.each(['?dryRun=true', '?atomic=true'])(
  'a small import that stores nothing leaves no transaction open: %s',
  async (query) => {
    await client.service.post({ id: 1, name: 'Fir' });
    await importPlants(numbered(1, 10), { query });
    const open =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    expect(await client.service.database.query(open)).toEqual([]);
  },
);
