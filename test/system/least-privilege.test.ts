import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { query } from '../support/postgres-server.ts';
import { psqlObstacle, readSql } from '../support/psql.ts';
import { testUnless } from '../support/skip.ts';
import { cleanEnvironment, runCommand, startStore } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const password = randomBytes(8).toString('hex');
/** Roles belong to the whole server, so these names are unique. */
const [owner, server] = [`owner_${password}`, `server_${password}`];
const roleFile = readSql('deploy/postgres/store-role.sql').replaceAll('plant_store_server', server);

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  folder = makeTemporaryFolder();
  database = await createTestDatabase({ migrated: false });
  // An owner who is not a superuser needs CREATEROLE to create the other role.
  await database.administer(`CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${password}'`);
  await database.administer(`ALTER DATABASE ${database.name} OWNER TO ${owner}`);
  const { code, stdout } = await commandAs(owner, 'migrate');
  expect([code, stdout]).toEqual([0, expect.stringContaining('Applied: ')]);
  await queryAs(owner, roleFile);
  await queryAs(owner, `ALTER ROLE ${server} PASSWORD '${password}'`);
});
afterAll(async () => {
  await database.drop();
  for (const role of [server, owner]) await database.administer(`DROP ROLE ${role}`);
  rmSync(folder, { recursive: true });
});

const urlAs = (role: string) => Object.assign(new URL(database.url), { username: role, password }).href;

const queryAs = async (role: string, sql: string) => {
  const client = new Client({ connectionString: urlAs(role) });
  await client.connect();
  return client.query(sql).finally(() => client.end());
};

const commandAs = (role: string, ...words: string[]) =>
  runCommand(words, { DATABASE_URL: urlAs(role), NODE_ENV: 'production' });

test('the owner migrates; the role of the store owns nothing and can serve all requests', async () => {
  const { stdout } = await commandAs(server, 'token', 'create', '--name', 'alice');
  const store = await startStore({ DATA_DIR: folder, DATABASE_URL: urlAs(server), RATE_LIMIT: '600/60' });
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
  expect(
    (await queryAs(owner, `SELECT count(*)::int FROM pg_class WHERE relowner = '${server}'::regrole`)).rows,
  ).toEqual([{ count: 0 }]);
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

describe('deploy/postgres/store-role.sql refuses, and changes nothing', () => {
  const other = `other_${password}`;
  let another: TestDatabase;
  const run = (role: string) =>
    query(
      Object.assign(new URL(urlAs(role)), { pathname: `/${another.name}` }).href,
      roleFile.replaceAll(server, other),
    );
  beforeEach(async () => {
    another = await createTestDatabase({ migrated: false });
    await another.administer(`ALTER DATABASE ${another.name} OWNER TO ${owner}`);
  });
  afterEach(async () => {
    await another.drop();
    await database.administer(`DROP ROLE IF EXISTS ${other}`);
    await database.administer(`ALTER ROLE ${owner} CREATEROLE`);
  });
  const migrate = async (role = owner) => {
    const DATABASE_URL = Object.assign(new URL(urlAs(role)), { pathname: `/${another.name}` }).href;
    expect(await runCommand(['migrate'], { DATABASE_URL, NODE_ENV: 'production' })).toMatchObject({ code: 0 });
  };
  const exists = async () => (await another.query('SELECT FROM pg_roles WHERE rolname = $1', [other])).length > 0;

  test('a database that is not migrated', async () => {
    await expect(run(owner)).rejects.toMatchObject({
      message: expect.stringMatching(/no table plants in the search path/),
      hint: expect.stringContaining('plant-store migrate'),
    });
    expect(await exists()).toBe(false);
  });

  test('a role that does not own the tables, even a superuser', async () => {
    await migrate();
    const sql = roleFile.replaceAll(server, other);
    await expect(another.query(sql)).rejects.toMatchObject({
      message: expect.stringMatching(/does not own the tables/),
      hint: `Connect as the role that migrates: ${owner}`,
    });
    expect(await exists()).toBe(false);
  });

  test('an owner that may not create roles; it works once a superuser has created the role', async () => {
    await migrate();
    await database.administer(`ALTER ROLE ${owner} NOCREATEROLE`);
    await expect(run(owner)).rejects.toMatchObject({
      message: expect.stringMatching(/may not create the role other_/),
      hint: `As a superuser run: ALTER ROLE ${owner} CREATEROLE`,
    });
    await database.administer(`CREATE ROLE ${other} LOGIN`);
    await run(owner);
    expect(await another.query("SELECT has_table_privilege($1, 'plants', 'INSERT') AS may", [other])).toEqual([
      { may: true },
    ]);
  });

  test('a schema that another role owns and in which everyone may create tables, as on PostgreSQL 14', async () => {
    await another.query('ALTER SCHEMA public OWNER TO CURRENT_USER');
    await another.query('GRANT CREATE ON SCHEMA public TO PUBLIC');
    await migrate();
    await expect(run(owner)).rejects.toMatchObject({
      message: expect.stringMatching(/may create tables in the schema public/),
      hint: expect.stringContaining('REVOKE CREATE ON SCHEMA public FROM PUBLIC'),
    });
    expect(await exists()).toBe(false);
    await another.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    await run(owner);
  });

  test('a role of the service that could act as the owner', async () => {
    await migrate();
    await database.administer(`CREATE ROLE ${other} LOGIN; GRANT ${owner} TO ${other}`);
    await expect(run(owner)).rejects.toThrow(/owns the tables/);
  });

  test('a role of the service that may not log in', async () => {
    await migrate();
    await database.administer(`CREATE ROLE ${other}`);
    await expect(run(owner)).rejects.toThrow(/may not log in/);
  });

  test('a database whose owner lets nobody else connect; it works on one of the owner of the tables', async () => {
    await migrate();
    const { name } = another;
    await another.administer(
      `ALTER DATABASE ${name} OWNER TO CURRENT_USER; REVOKE ALL ON DATABASE ${name} FROM PUBLIC`,
    );
    await another.administer(`GRANT CONNECT, TEMPORARY ON DATABASE ${name} TO ${owner}`);
    await expect(run(owner)).rejects.toMatchObject({
      message: expect.stringMatching(/may not connect to the database/),
      hint: expect.stringContaining(`GRANT CONNECT, TEMPORARY ON DATABASE ${name} TO ${other}`),
    });
    await another.administer(`ALTER DATABASE ${name} OWNER TO ${owner}`);
    await run(owner);
    for (const privilege of ['CONNECT', 'TEMPORARY'])
      expect(
        await another.query(`SELECT has_database_privilege('${other}', '${name}', '${privilege}') AS may`),
      ).toEqual([{ may: true }]);
  });
});

test('store-role.sql leaves tables of others in the schema alone, and grants those of another schema', async () => {
  await database.query('CREATE TABLE of_another (id int)');
  await database.query(`CREATE SCHEMA "My Garden" AUTHORIZATION ${owner}`);
  const url = new URL(urlAs(owner));
  url.searchParams.set('schema', 'My Garden');
  try {
    await queryAs(owner, roleFile);
    expect(await runCommand(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 0 });
    await queryAs(owner, `SET search_path = "My Garden"; ${roleFile}`);
    await queryAs(server, 'SELECT FROM "My Garden".plants');
    await expect(queryAs(server, 'SELECT FROM of_another')).rejects.toThrow('permission denied');
  } finally {
    await database.query('DROP TABLE of_another; DROP SCHEMA "My Garden" CASCADE');
  }
});

describe('bin/store-role.js', () => {
  const storeRole = (environment: Record<string, string>) =>
    spawnSync(process.execPath, ['bin/store-role.js'], { encoding: 'utf8', env: cleanEnvironment(environment) });
  const verifierOf = async () =>
    (await database.query("SELECT rolpassword FROM pg_authid WHERE rolname = 'plant_store_server'"))[0]?.rolpassword;
  /** The role belongs to the whole server. */
  afterAll(async () => {
    await database.query('DROP OWNED BY plant_store_server');
    await database.administer('DROP ROLE plant_store_server');
  });

  test('sets the password, which the server never sees', async () => {
    // The number of iterations shows who made the verifier.
    await database.administer(`ALTER ROLE ${owner} SET scram_iterations = 5000`);
    const secret = `a'b"\\ \u00a0ﬁ${randomBytes(8).toString('hex')}`;
    const { status, stderr } = storeRole({ DATABASE_URL: urlAs(owner), STORE_PASSWORD: secret });
    expect([status, stderr]).toEqual([0, '']);
    expect(await verifierOf()).toMatch(/^SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}$/);
    const url = new URL(database.url);
    Object.assign(url, { username: 'plant_store_server', password: encodeURIComponent(secret) });
    expect(await query(url.href, 'SELECT current_user AS role')).toEqual([{ role: 'plant_store_server' }]);
    url.password = 'wrong';
    await expect(query(url.href, 'SELECT')).rejects.toThrow('password authentication failed');
  });

  test.each([
    ['no password', { STORE_PASSWORD: '' }, /^STORE_PASSWORD is not set\..*\n$/],
    ['no URL', { DATABASE_URL: '' }, /^DATABASE_URL is not set\..*\n$/],
    [
      'a URL with an unencoded password',
      { DATABASE_URL: 'postgresql://o:12/secretpart@h/d' },
      /\nDATABASE_URL is wrong/,
    ],
    ['a wrong role', { DATABASE_URL: 'server' }, /does not own the tables\.\nConnect as /],
  ])('%s: exit code 1, and the password stays', async (_title, environment: Record<string, string>, message) => {
    const before = await verifierOf();
    const url = environment.DATABASE_URL ?? urlAs(owner);
    const DATABASE_URL = url === 'server' ? urlAs(server) : url;
    const { status, stderr } = storeRole({ STORE_PASSWORD: 'x', ...environment, DATABASE_URL });
    expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(stderr).not.toContain('secretpart');
    expect(await verifierOf()).toEqual(before);
  });
});

testUnless(psqlObstacle, 'the command of the documentation fails if the file does', async () => {
  for (const file of ['deploy/postgres/store-role.sql', 'SECURITY.md', 'docs/how-to/back-up-and-restore.md'])
    expect(readFileSync(file, 'utf8').match(/psql .*--file deploy\/postgres\/store-role.sql/g)).toEqual([
      'psql --file deploy/postgres/store-role.sql',
    ]);
  const words = ['--file', 'deploy/postgres/store-role.sql', urlAs(server)];
  const { status, stderr } = spawnSync('psql', words, { encoding: 'utf8' });
  expect([status, stderr.match(/ERROR/g)]).toEqual([3, ['ERROR']]);
});

test('a role that may create tables, but no extensions, migrates an empty database', async () => {
  const empty = await createTestDatabase({ migrated: false });
  await empty.query(`GRANT CREATE ON SCHEMA public TO ${server}`);
  const DATABASE_URL = Object.assign(new URL(urlAs(server)), { pathname: `/${empty.name}` }).href;
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL, DATA_DIR: folder });
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
      const url = Object.assign(new URL(urlAs(server)), { pathname: `/${empty.name}` }).href;
      const { code, stderr } = await runCommand([command], { DATABASE_URL: url, DATA_DIR: folder, PORT: '0' });
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
