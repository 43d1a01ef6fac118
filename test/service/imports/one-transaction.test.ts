import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { lockTable, waitForBlocked } from '../../support/lock-table.ts';
import { onCitus, unless } from '../../support/skip.ts';
import { answerOf, counts, lines, numbered, useImports } from '../../support/use-imports.ts';
import { waitUntil } from '../../support/wait-until.ts';

const client = useImports();
const { start, importPlants, openImport, stored, count } = client;
const { test: withTrigger } = unless(onCitus('plants can have no trigger'));

describe('an import of any size is one transaction', () => {
  const { test: withSnapshot } = unless(onCitus('each shard is read when the statement reaches it'));

  withSnapshot.each([10, 12_000])('whose %d plants are seen all at once', async (size) => {
    const unlock = await lockTable(client.service.database.url, 'plants', 'SHARE');
    const importing = importPlants(numbered(1, size));
    await waitForBlocked(client.service.database, 'INSERT');
    await unlock();
    const seen = new Set<number>();
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    importing.then(over, over);
    while (!isOver) seen.add(await count());
    expect(await importing).toMatchObject({ status: 200, body: counts(size) });
    expect([0, size]).toEqual(expect.arrayContaining([...seen]));
    expect(await count()).toBe(size);
  });

  test('that begins when all rows have arrived: a client that pauses holds no lock, no transaction and no snapshot', async () => {
    await start();
    const { query } = client.service.database;
    const request = openImport();
    request.write(numbered(1, 15_001));
    const states = () =>
      query(
        `SELECT state, xact_start, backend_xmin, backend_xid FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'COPY%import_rows%'`,
      );
    const idle = { state: 'idle', xact_start: null, backend_xmin: null, backend_xid: null };
    await waitUntil('an idle session', async () => isDeepStrictEqual(await states(), [idle]));
    expect((await client.service.post({ id: 3, name: 'Yew' })).status).toBe(200);
    request.end();
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(15_000, 0, 0, 1) });
  });

  test('with a connection that is closed at the end, unless it was small', async () => {
    await start();
    const idle = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT'";
    const sessionOf = async () => (await client.service.database.query(idle))[0]?.pid;
    await importPlants(numbered(1, 10));
    const small = await sessionOf();
    await importPlants(numbered(11, 20));
    expect([small, await sessionOf()]).toEqual([expect.any(Number), small]);
    await importPlants(numbered(21, 6000));
    await waitUntil('the end of the session', async () => (await sessionOf()) === undefined);
  });

  test('with exact texts', async () => {
    const texts = ['\\', '\t', '\n', '\r\n', '\\N', '\\.', '"', ',', '{}', 'NULL', '', '🌲', "'"];
    const rows = texts.map((text, id) => ({ id, name: text, tag: text }));
    const expected = rows.map(({ id, name, tag }) => [String(id), name, tag]);
    await importPlants(lines(...rows));
    expect(await stored()).toEqual(expected);
    await client.service.database.query('TRUNCATE plants');
    await importPlants(lines(...rows) + numbered(1000, 7000));
    expect((await stored()).slice(0, rows.length)).toEqual(expected);
  });
});

describe('an id that is taken while the import is stored', () => {
  /** Imports plants 1 to `size` while another transaction creates plant 3, and commits. */
  const race = async (size: number, query: string) => {
    const other = new Client(client.service.database.url);
    await other.connect();
    await other.query("BEGIN; INSERT INTO plants (id, name) VALUES (3, 'Yew')");
    const importing = importPlants(numbered(1, size), { query });
    await waitForBlocked(client.service.database);
    await other.query('COMMIT');
    await other.end();
    return importing;
  };

  test.each([10, 40_000])('is a conflict like any other, %d rows', async (size) => {
    const failed = await race(size, '');
    const errors = [{ line: 3, id: 3, error: 1004, message: 'The id 3 is taken.' }];
    expect(failed).toMatchObject({ status: 200, body: { ...counts(size - 1, 0, 0, 1), errors } });
    expect(await count()).toBe(size);
    for (const [query, body] of [
      ['?onConflict=skip', counts(size - 1, 0, 1)],
      ['?onConflict=replace', counts(size - 1, 1)],
    ] as const) {
      await client.service.database.query('TRUNCATE plants');
      expect(await race(size, query)).toMatchObject({ status: 200, body: { ...body, errors: [] } });
    }
    expect(await client.service.stored('3')).toMatchObject({ name: 'Fir 3' });
  });

  test('may be one failed row too many: nothing is stored', async () => {
    for (const query of ['?maxErrors=0', '?atomic=true']) {
      const { status, body } = await race(6000, query);
      expect([status, body]).toMatchObject([400, { ...counts(0, 0, 0, 1), stoppedAt: 3, error: 1004 }]);
      expect(await stored()).toEqual([['3', 'Yew', null]]);
      await client.service.database.query('TRUNCATE plants');
    }
  });
});

test.each([10, 6000])('ids that become free or are taken meanwhile are not mixed up, %d rows', async (size) => {
  await client.service.database.query("INSERT INTO plants VALUES (7, 'Yew')");
  const other = new Client(client.service.database.url);
  await other.connect();
  await other.query("BEGIN; DELETE FROM plants WHERE id = 7; INSERT INTO plants VALUES (8, 'Yew')");
  const importing = importPlants(numbered(1, size));
  await waitForBlocked(client.service.database);
  await other.query('COMMIT');
  await other.end();
  const errors = [{ line: 8, id: 8, error: 1004, message: 'The id 8 is taken.' }];
  expect(await importing).toMatchObject({ status: 200, body: { ...counts(size - 1, 0, 0, 1), errors } });
  expect(await client.service.stored('7')).toMatchObject({ name: 'Fir 7' });
});

withTrigger.each(['error', 'skip', 'replace'])(
  'a trigger that rejects every statement fails each row once: %s',
  async (mode) => {
    await client.start();
    await client.service.database.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''read only''; END';
    CREATE TRIGGER refuse BEFORE INSERT ON plants EXECUTE FUNCTION refuse()`);
    const { body } = await importPlants('\n\n{"id":1,"name":"a"}\n\n{"id":2,"name":"b"}\n{"id":1,"name":"c"}\n', {
      query: `?onConflict=${mode}`,
    });
    const [skipped, failed] = mode === 'skip' ? [1, 2] : [0, 3];
    expect(body).toMatchObject({ ...counts(0, 0, skipped, failed), errors: expect.any(Array) });
    expect(body.errors).toHaveLength(failed);
  },
);

withTrigger.each([10, 6000])('a deferred constraint fails only the rows that it rejects, %d rows', async (size) => {
  await client.start();
  await client.service.database.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE check_violation; END';
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.id = 5) EXECUTE FUNCTION refuse()`);
  const { body } = await importPlants(numbered(1, size));
  const errors = [{ line: 5, id: 5, error: 1003, message: 'The database rejected the plant.' }];
  expect(body).toMatchObject({ ...counts(size - 1, 0, 0, 1), errors });
  expect(await count()).toBe(size - 1);
});

withTrigger.each([10, 6000])('rows that a trigger leaves out are not counted as created, %d rows', async (size) => {
  await client.start();
  await client.service.database.query(`
    CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER leave_out BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id % 5 = 0) EXECUTE FUNCTION leave_out()`);
  const { body } = await importPlants(numbered(1, size), { query: '?maxErrors=10000' });
  expect(body).toMatchObject(counts(size * 0.8, 0, 0, size * 0.2));
  expect(await count()).toBe(size * 0.8);
});

test('an import that is refused or a dry run writes nothing to the table', async () => {
  await start();
  const { query } = client.service.database;
  await importPlants(numbered(5000, 5999));
  const size = async () => (await query("SELECT pg_current_wal_lsn(), pg_table_size('plants') AS size"))[0]?.size;
  const before = await size();
  expect((await importPlants(numbered(1, 7000), { query: '?maxErrors=999' })).status).toBe(400);
  expect((await importPlants(numbered(1, 7000), { query: '?atomic=true' })).status).toBe(400);
  expect((await importPlants(numbered(1, 7000), { query: '?dryRun=true&onConflict=replace' })).status).toBe(200);
  expect(await size()).toBe(before);
});

test('replacing writes only plants that change', async () => {
  const versions = () => client.service.database.query('SELECT id, xmin, ctid FROM plants ORDER BY id');
  await importPlants(numbered(1, 5));
  const before = await versions();
  const query = '?onConflict=replace';
  expect(await importPlants(numbered(1, 5), { query })).toMatchObject({ status: 200, body: counts(0, 5) });
  expect(await versions()).toEqual(before);
  await importPlants(numbered(1, 4) + lines({ id: 5, name: 'Elm' }), { query });
  const after = await versions();
  expect(after.slice(0, 4)).toEqual(before.slice(0, 4));
  expect(after[4]).not.toEqual(before[4]);
});

test.each(['skip', 'replace'])('imports of the same ids in other orders do not deadlock: %s', async (onConflict) => {
  const rows = Array.from({ length: 10_000 }, (_, id) => `{"id":${id},"name":"Fir"}\n`);
  const query = `?onConflict=${onConflict}`;
  const posts = async () => {
    for (let id = 0; id < 10_000; id += 501) await client.service.post({ id, name: 'Yew' });
  };
  const [first, second] = await Promise.all([
    importPlants(rows.join(''), { query, headers: await client.asOther() }),
    importPlants(rows.toReversed().join(''), { query }),
    posts(),
  ]);
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(await count()).toBe(10_000);
});
