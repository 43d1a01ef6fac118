import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { assertTimeLimits } from '../../src/database/check-databases.ts';
import { inspectDatabase } from '../../src/database/inspect-database.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { query } from '../support/postgres-server.ts';
import { psqlObstacle } from '../support/psql.ts';
import { runProgram } from '../support/run-program.ts';
import { testUnless } from '../support/skip.ts';
import { cleanEnvironment } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { useRoles } from '../support/use-roles.ts';

const { password, owner, server, roleFile, database, urlAs, queryAs } = useRoles();

describe('deploy/postgres/store-role.sql refuses, and changes nothing', () => {
  const other = `other_${password}`;
  let another: TestDatabase;
  const run = (role: string) => query(urlAs(role, another.name), roleFile.replaceAll(server, other));
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
    const DATABASE_URL = urlAs(role, another.name);
    expect(await runProgram(['migrate'], { DATABASE_URL, NODE_ENV: 'production' })).toMatchObject({ code: 0 });
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

  test('a schema that another role owns, and whose tables the role of the service could not reach', async () => {
    await another.query('ALTER SCHEMA public OWNER TO CURRENT_USER; REVOKE ALL ON SCHEMA public FROM PUBLIC');
    await another.query(`GRANT USAGE, CREATE ON SCHEMA public TO ${owner}`);
    await migrate();
    await expect(run(owner)).rejects.toMatchObject({
      message: expect.stringMatching(/may not use the schema public/),
      hint: expect.stringContaining(`GRANT USAGE ON SCHEMA public TO ${other}`),
    });
    expect(await exists()).toBe(false);
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
    await another.administer(`GRANT CONNECT ON DATABASE ${name} TO PUBLIC`);
    await expect(run(owner)).rejects.toThrow(/may not create temporary tables in it/);
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
    expect(await runProgram(['migrate'], { DATABASE_URL: url.href })).toMatchObject({ code: 0 });
    await queryAs(owner, `SET search_path = "My Garden"; ${roleFile}`);
    await queryAs(server, 'SELECT FROM "My Garden".plants');
    await expect(queryAs(server, 'SELECT FROM of_another')).rejects.toThrow('permission denied');
  } finally {
    await database.query('DROP TABLE of_another; DROP SCHEMA "My Garden" CASCADE');
  }
});

test('store-role.sql gives the role time limits with which the service starts behind a pooler', async () => {
  const url = `${urlAs(server)}?pgbouncer=true`;
  const { statementTimeout } = limitRequests(readConfig({ DATABASE_URL: url }));
  assertTimeLimits({ url, ...(await inspectDatabase(url)) }, statementTimeout);
});

describe('bin/store-role.js', () => {
  const storeRole = (environment: Record<string, string>, ...files: string[]) => {
    const env = cleanEnvironment(environment);
    return spawnSync(process.execPath, ['bin/store-role.js', ...files], { encoding: 'utf8', env });
  };
  const verifierOf = async () =>
    (await database.query("SELECT rolpassword FROM pg_authid WHERE rolname = 'plant_store_server'"))[0]?.rolpassword;
  /** Gives each host two addresses, as localhost often has. If none can be reached, the error has no message. */
  const twoAddresses = `--import=data:text/javascript,${encodeURIComponent(`
    import dns from 'node:dns';
    dns.lookup = (name, options, found) => found(null, [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }]);
  `)}`;
  /** The role belongs to the whole server. */
  afterAll(async () => {
    await database.query('DROP OWNED BY plant_store_server');
    await database.administer('DROP ROLE plant_store_server');
  });

  test('sets the password, which the server never sees', async () => {
    // The number of iterations shows who made the verifier.
    await database.administer(`ALTER ROLE ${owner} SET scram_iterations = 5000`);
    const secret = `a'b"\\ \u00a0ﬁ\u00ad${randomBytes(8).toString('hex')}`;
    const { status, stderr } = storeRole({ DATABASE_URL: urlAs(owner), STORE_PASSWORD: secret });
    expect([status, stderr]).toEqual([0, '']);
    expect(await verifierOf()).toMatch(/^SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}$/);
    const url = new URL(database.url);
    Object.assign(url, { username: 'plant_store_server', password: encodeURIComponent(secret) });
    expect(await query(url.href, 'SELECT current_user AS role')).toEqual([{ role: 'plant_store_server' }]);
    url.password = 'wrong';
    await expect(query(url.href, 'SELECT')).rejects.toThrow('password authentication failed');
  });

  test('then runs the files that it is given, without the commands of psql', async () => {
    const folder = makeTemporaryFolder();
    const file = join(folder, 'more.sql');
    writeFileSync(file, "\\set ON_ERROR_STOP 1\nCOMMENT ON TABLE plants IS 'of the file'");
    try {
      const environment = { DATABASE_URL: urlAs(owner), STORE_PASSWORD: 'x' };
      expect(storeRole(environment, relative('.', file))).toMatchObject({ status: 0, stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await database.query("SELECT obj_description('plants'::regclass) AS comment")).toEqual([
      { comment: 'of the file' },
    ]);
  });

  test.each([
    ['no password', { STORE_PASSWORD: '' }, /^STORE_PASSWORD is not set\..*\n$/],
    ['no URL', { DATABASE_URL: '' }, /^DATABASE_URL is not set\..*\n$/],
    [
      'a URL with an unencoded password',
      { DATABASE_URL: 'postgresql://o:12/secretpart@h/d' },
      /\nDATABASE_URL is wrong/,
    ],
    ['no database', { DATABASE_URL: 'postgresql://o@h:1/d', NODE_OPTIONS: twoAddresses }, /^ECONNREFUSED\n$/],
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

testUnless(psqlObstacle(), 'the command of the documentation fails if the file does', async () => {
  for (const file of ['deploy/postgres/store-role.sql', 'SECURITY.md', 'docs/how-to/back-up-and-restore.md'])
    expect(readFileSync(file, 'utf8').match(/psql .*--file deploy\/postgres\/store-role.sql/g)).toEqual([
      'psql --file deploy/postgres/store-role.sql',
    ]);
  const words = ['--file', 'deploy/postgres/store-role.sql', urlAs(server)];
  const { status, stderr } = spawnSync('psql', words, { encoding: 'utf8' });
  expect([status, stderr.match(/ERROR/g)]).toEqual([3, ['ERROR']]);
});
