import { describe, expect, test } from '@jest/globals';
import { runProgram } from '../support/run-program.ts';
import { startStore } from '../support/store-process.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useRoles } from '../support/use-roles.ts';

const { owner, server, database, urlAs, queryAs, commandAs } = useRoles();
const folder = useDataFolder();

test('the owner migrates; the role of the store owns nothing and can serve all requests', async () => {
  const { stdout } = await commandAs(server, 'token', 'create', '--name', 'alice');
  const store = await startStore({ DATA_DIR: folder.path, DATABASE_URL: urlAs(server), RATE_LIMIT: '600/60' });
  try {
    const call = async (method: string, path: string, body?: string, type = 'application/json') => {
      const headers = { Authorization: `Bearer ${stdout.trim()}`, 'Content-Type': type };
      const response = await fetch(store.url + path, { method, headers, ...(body && { body }) });
      return [response.status, await response.text()];
    };
    expect(await call('GET', '/readyz')).toEqual([200, '{"status":"ready"}']);
    expect(await call('POST', '/plants', '{"id":1,"name":"Fir"}')).toEqual([200, '{"name":"Fir"}']);
    expect(await call('PUT', '/plants/1', '{"name":"Yew"}')).toEqual([200, '{"name":"Yew"}']);
    expect((await call('PATCH', '/plants/1', '{"tag":"x"}', 'application/merge-patch+json'))[0]).toBe(200);
    expect((await call('GET', '/plants/1'))[0]).toBe(200);
    expect(await call('GET', '/plants')).toEqual([200, expect.stringContaining('"Yew"')]);
    expect((await call('DELETE', '/plants/1'))[0]).toBe(204);
    for (const query of ['', '?onConflict=replace', '?dryRun=true&onConflict=skip', '?atomic=true&onConflict=skip']) {
      const row = '{"id":2,"name":"Fir"}';
      expect((await call('POST', `/plants/import${query}`, row, 'application/x-ndjson'))[0]).toBe(200);
    }
    expect((await commandAs(server, 'token', 'revoke', 'alice')).code).toBe(0);
  } finally {
    await store.stop();
  }
  const [{ count } = {}] = await database.query('SELECT count(*)::int FROM rate_limits');
  expect(count).toBeGreaterThan(0);
  expect((await commandAs(server, 'migrate')).stdout).toBe('Nothing to apply.\n');
  // The server of the tests runs without fsync, of which the store warns.
  const lines = store.output.text.split('\n').filter((line) => !line.includes('can lose confirmed plants'));
  expect(lines.join('\n')).not.toMatch(/"level":"(warn|error|fatal)"/);
  expect(await queryAs(owner, `SELECT count(*)::int FROM pg_class WHERE relowner = '${server}'::regrole`)).toEqual([
    { count: 0 },
  ]);
});

test.each([
  'CREATE TABLE mine ()',
  'ALTER TABLE plants ADD COLUMN x int',
  'DROP TABLE plants',
  'TRUNCATE plants',
  'CREATE INDEX ON plants (name)',
  'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
  'CREATE SCHEMA mine',
  'CREATE ROLE mine',
  'CREATE EXTENSION pgcrypto',
  "COPY plants TO PROGRAM 'id'",
  "SELECT pg_read_file('postgresql.conf')",
  'SELECT * FROM pg_authid',
  'DELETE FROM _prisma_migrations',
])('the role of the store may not: %s', async (sql) => {
  await expect(queryAs(server, sql)).rejects.toThrow(/permission denied|must be (owner|superuser)/);
});

test('the store may use tables of later migrations', async () => {
  await queryAs(owner, 'CREATE TABLE later (id bigint GENERATED ALWAYS AS IDENTITY, name text)');
  await queryAs(server, "INSERT INTO later (name) VALUES ('Fir'); UPDATE later SET name = 'Yew'; DELETE FROM later");
  await queryAs(owner, 'DROP TABLE later');
});

test('a role that may create tables, but no extensions, migrates an empty database', async () => {
  const empty = await createTestDatabase({ migrated: false });
  await empty.query(`GRANT CREATE ON SCHEMA public TO ${server}`);
  const DATABASE_URL = urlAs(server, empty.name);
  const { code, stderr } = await runProgram(['migrate'], { DATABASE_URL, DATA_DIR: folder.path });
  await empty.drop();
  expect([code, stderr]).toEqual([0, '']);
});

describe('a role that may not apply the missing migrations: an error message, and no changes', () => {
  const message = /^The database lacks migrations \(\d{14}_.*\), and the role .* run: plant-store migrate\n$/;

  test.each(['migrate', 'serve'])(
    '%s on an empty database, with a role that may not create tables',
    async (command) => {
      const empty = await createTestDatabase({ migrated: false });
      await empty.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
      const url = urlAs(server, empty.name);
      const { code, stderr } = await runProgram([command], { DATABASE_URL: url, DATA_DIR: folder.path, PORT: '0' });
      await empty.drop();
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    },
  );

  test.each([
    ['that may not create tables', 'REVOKE CREATE ON SCHEMA public FROM'],
    ['that may create tables, but does not own the existing ones', 'GRANT CREATE ON SCHEMA public TO'],
  ])('migrate on a database that lacks one migration, with a role %s', async (_title, grantOrRevoke) => {
    await queryAs(owner, `${grantOrRevoke} ${server}`);
    const [last] = await database.query('SELECT * FROM _prisma_migrations ORDER BY migration_name DESC LIMIT 1');
    await database.query('DELETE FROM _prisma_migrations WHERE id = $1', [last?.id]);
    const { code, stderr } = await commandAs(server, 'migrate');
    const [{ count } = {}] = await database.query('SELECT count(*) FROM _prisma_migrations WHERE finished_at IS NULL');
    await database.query(
      'INSERT INTO _prisma_migrations SELECT * FROM json_populate_record(NULL::_prisma_migrations, $1)',
      [JSON.stringify(last)],
    );
    await queryAs(owner, `REVOKE CREATE ON SCHEMA public FROM ${server}`);
    expect([code, stderr, count]).toEqual([1, expect.stringMatching(message), '0']);
  });
});
