import { spawnSync } from 'node:child_process';
import { afterEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { killChildren } from '../support/children.ts';
import { runProgram } from '../support/run-program.ts';
import { runCommand, spawnCommand } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

afterEach(killChildren);
const database = useTestDatabase({ migrated: false, each: true });

const migrate = (url = database.url) => runProgram(['migrate'], { DATABASE_URL: url, NODE_ENV: 'production' });

test('four concurrent runs migrate once', async () => {
  const environment = { DATABASE_URL: database.url, NODE_ENV: 'production' };
  const results = await Promise.all(Array.from({ length: 4 }, () => runCommand(['migrate'], environment)));
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(results.filter(({ stdout }) => stdout.startsWith('Applied')).length).toBe(1);
  expect(await database.query('SELECT migration_name FROM _prisma_migrations GROUP BY 1 HAVING count(*) > 1')).toEqual(
    [],
  );
});

test('waits for the lock of another migration, and changes nothing before it has the lock', async () => {
  const other = new Client({ connectionString: database.url });
  other.on('error', () => {});
  await other.connect();
  try {
    await other.query('SELECT pg_advisory_lock(7230113)');
    let ended = false;
    const waiting = migrate().finally(() => {
      ended = true;
    });
    // By the third request, two have been refused.
    const asked = new Set<unknown>();
    const questions = `SELECT query_start::text AS at FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()`;
    await waitUntil('three requests for the lock', async () => {
      for (const { at } of await database.query(questions)) asked.add(at);
      return asked.size >= 3 || ended;
    });
    expect(ended).toBe(false);
    expect(await database.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")).toEqual(
      [],
    );
    await other.query('SELECT pg_advisory_unlock_all()');
    expect(await waiting).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
  } finally {
    await other.end();
  }
});

test('waits for a lock at most 2 s at a time, so that others get through, until it is free, with any time limit', async () => {
  await database.administer(`ALTER DATABASE ${database.name} SET statement_timeout = '1s'`);
  const other = new Client({ connectionString: database.url });
  other.on('error', () => {});
  await other.connect();
  try {
    await other.query('BEGIN; CREATE TABLE tokens (id int)');
    // Its session is idle for a second between attempts.
    const migrating = migrate(`${database.url}?options=-c%20idle_session_timeout%3D500ms`);
    const attempts = new Set<unknown>();
    await waitUntil('three attempts', async () => {
      const blocked = await database.query(`SELECT query_start::text AS at FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%CREATE TABLE "tokens"%'`);
      for (const { at } of blocked) attempts.add(at);
      return attempts.size >= 3;
    });
    await other.query('ROLLBACK');
    expect(await migrating).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Applied: /),
      stderr: expect.stringMatching(/^The migration waits for other transactions.*\n$/),
    });
  } finally {
    await other.end();
  }
});

test('waiting for another migration does not hold up a CREATE INDEX CONCURRENTLY', async () => {
  const other = new Client({ connectionString: database.url });
  other.on('error', () => {});
  await other.connect();
  try {
    await other.query('SELECT pg_advisory_lock(7230113)');
    const waiting = migrate();
    const askers = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%advisory_lock%'`;
    await waitUntil('two sessions that requested the lock', async () => (await database.query(askers)).length >= 2);
    await database.query('CREATE TABLE for_a_moment (id int)');
    await other.query("SET statement_timeout = '10s'");
    await other.query('CREATE INDEX CONCURRENTLY ON for_a_moment (id)');
    await database.query('DROP TABLE for_a_moment');
    await other.query('SELECT pg_advisory_unlock_all()');
    expect(await waiting).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
  } finally {
    await other.end();
  }
});

test('a migration that fails leaves nothing behind, and is applied once its cause is gone', async () => {
  await database.query(`
    CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no index''; END';
    CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION refuse()`);
  const { code, stderr } = await migrate();
  expect([code, stderr]).toEqual([
    1,
    'The migration 20261121000000_plants_and_tokens was undone: no index. Fix the cause, and migrate again.\n',
  ]);
  expect(await database.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")).toEqual([]);
  await database.query('DROP EVENT TRIGGER refuse');
  expect(await migrate()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
});

test("Prisma's command line finds all migrations applied, and none that was edited", async () => {
  await migrate();
  const words = ['test/support/prisma-engine.ts', database.url, 'status'];
  expect(JSON.parse(spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout)).toEqual({
    editedMigrationNames: [],
    failedMigrationNames: [],
    hasMigrationsTable: true,
    history: null,
  });
});

test('a migration that another program has begun is applied once its record is deleted, as the documentation describes', async () => {
  await migrate();
  await database.query(
    'ALTER TABLE tokens DROP COLUMN last_used_at, DROP COLUMN previous_hash, DROP COLUMN previous_expires_at',
  );
  const [{ migration_name: name } = {}] = await database.query(`
    UPDATE _prisma_migrations SET finished_at = NULL
    WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING migration_name`);
  const refused = await migrate();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `Begun by an older build or Prisma's command line, and not finished: ${name}. Undo what it did, then run DELETE FROM ` +
      '_prisma_migrations WHERE finished_at IS NULL (docs/how-to/migrate-and-upgrade.md).\n',
  ]);
  await database.query('DELETE FROM _prisma_migrations WHERE finished_at IS NULL');
  expect(await migrate()).toMatchObject({ code: 0, stdout: `Applied: ${name}\n` });
});

test.each(['CREATE TABLE plants (height int)', 'CREATE VIEW plants AS SELECT 1 AS height'])(
  'tables, views and types of other programs in the schema do not matter, unless they have the same names: %s',
  async (sql) => {
    await database.query(
      "CREATE TABLE others (id int); CREATE TYPE mood AS ENUM ('a'); CREATE VIEW shown AS SELECT 1 AS one",
    );
    await database.query(sql);
    const { code, stderr } = await migrate();
    expect([code, stderr]).toEqual([
      1,
      'The migration 20261121000000_plants_and_tokens was undone: relation "plants" already exists. If it belongs to another program, ' +
        'use another schema: ?schema= in the URL.\n',
    ]);
    await database.query(`DROP ${sql.split(' ')[1]} plants`);
    expect(await migrate()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
  },
);

test.each(['now()', 'NULL'])(
  'the migrations of another program in the schema stay as they are: finished at %s',
  async (finishedAt) => {
    await database.query(
      'CREATE TABLE _prisma_migrations (migration_name text, finished_at timestamptz, rolled_back_at timestamptz)',
    );
    await database.query(`INSERT INTO _prisma_migrations VALUES ('20240101_init_shop', ${finishedAt}, NULL)`);
    const { code, stderr } = await migrate();
    expect([code, stderr]).toEqual([
      1,
      'The table _prisma_migrations in the schema "public" has the migrations of another program, such as 20240101_init_shop. ' +
        'Use another schema: ?schema= in the URL.\n',
    ]);
    expect(await database.query('SELECT migration_name FROM _prisma_migrations')).toHaveLength(1);
  },
);

test('a server that is read-only: a sentence', async () => {
  await database.administer(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
  expect((await migrate()).stderr).toMatch(
    /^The migration \S+ was undone: cannot execute CREATE TABLE in a read-only transaction\. Fix the cause, and migrate again\.\n$/,
  );
});

test('no transaction_timeout of the role or database ends a migration', async () => {
  await database.query(`
    CREATE FUNCTION wait() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.4); END';
    CREATE EVENT TRIGGER wait ON ddl_command_start EXECUTE FUNCTION wait()`);
  await database.administer(`ALTER DATABASE ${database.name} SET transaction_timeout = '300ms'`);
  expect(await migrate()).toMatchObject({ code: 0, stderr: '' });
});

test('PostgreSQL ends the statement of a migration that was killed, and undoes what it did', async () => {
  await database.query(`
    CREATE FUNCTION wait_long() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); END';
    CREATE EVENT TRIGGER wait_long ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION wait_long()`);
  const running = () =>
    database.query(`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`);
  const migration = spawnCommand(['migrate'], { DATABASE_URL: database.url, NODE_ENV: 'production' });
  await waitUntil('its statement', async () => (await running()).length === 1);
  migration.kill('SIGKILL');
  await waitUntil('the end of its statement', async () => (await running()).length === 0);
  await database.query('DROP EVENT TRIGGER wait_long');
  expect(await migrate()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
});

test('a connection that is lost during a statement: the reason, and nothing is applied', async () => {
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => other.end());
  await other.query('BEGIN; CREATE TABLE tokens (id int)');
  const migrating = migrate();
  await waitUntil('its end', async () => {
    const [session] = await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return session !== undefined;
  });
  const { code, stderr } = await migrating;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^The database is not available: terminating connection due to administrator command\. .*\n$/,
    ),
  ]);
});

test('a connection that is lost during the commit: the outcome is unknown, and the next run finds it', async () => {
  await migrate();
  await database.query(`
    DELETE FROM _prisma_migrations WHERE migration_name = '20261125000000_idempotency_keys'; DROP TABLE idempotency_keys;
    CREATE FUNCTION wait_long() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); END';
    CREATE CONSTRAINT TRIGGER wait_long AFTER INSERT ON _prisma_migrations DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait_long()`);
  const migrating = migrate();
  await waitUntil('its commit', async () => {
    const [session] = await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'PgSleep'`);
    return session !== undefined;
  });
  expect((await migrating).stderr).toMatch(
    /^The connection to the database was lost, so it is unknown whether anything was changed: terminating connection .*\n$/,
  );
  await database.query('DROP TRIGGER wait_long ON _prisma_migrations');
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'Applied: 20261125000000_idempotency_keys\n' });
});

test.each(['DELETE FROM _prisma_migrations', 'UPDATE _prisma_migrations SET rolled_back_at = now()'])(
  'a database of the first migration goes on: %s',
  async (change) => {
    await migrate();
    await database.query('DROP TABLE idempotency_keys');
    await database.query(`${change} WHERE migration_name LIKE '%idempotency_keys'`);
    await database.query("INSERT INTO plants VALUES (1, 'Fir')");
    expect(await migrate()).toMatchObject({ code: 0, stdout: 'Applied: 20261125000000_idempotency_keys\n' });
    expect(await database.query('SELECT name, (SELECT count(*) FROM idempotency_keys) AS keys FROM plants')).toEqual([
      { name: 'Fir', keys: '0' },
    ]);
  },
);

test('a database with the migrations from before 1.0 has all that this release needs, and keeps its search index', async () => {
  await migrate();
  // These became part of the first one, except the index, which became optional.
  for (const name of ['20261121010000_plant_search', '20261122000000_merge_names_in_the_background'])
    await database.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       VALUES (gen_random_uuid(), 'x', $1, now(), 1)`,
      [name],
    );
  await database.query('CREATE EXTENSION pg_trgm');
  await database.query('CREATE INDEX plants_name_idx ON plants USING gin (name gin_trgm_ops)');
  const run = (...words: string[]) => runProgram(words, { DATABASE_URL: database.url, NODE_ENV: 'production' });
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect((await run('search-index', 'status')).stdout).toMatch(/^There is a search index of /);
  expect((await run('token', 'create', '--name', 'alice')).code).toBe(0);
  expect(await run('search-index', 'drop')).toMatchObject({ code: 0, stdout: 'Dropped the search index.\n' });
});

test.each([
  ['no server', (url: URL) => Object.assign(url, { port: '1' })],
  ['a wrong password', (url: URL) => Object.assign(url, { password: 'wrong' })],
  ['no such database', (url: URL) => Object.assign(url, { pathname: '/nothing' })],
  ['no such host', (url: URL) => Object.assign(url, { hostname: 'nothing.invalid' })],
])('%s: a one-line message', async (_title, change) => {
  const { code, stderr } = await runProgram(['migrate'], { DATABASE_URL: change(new URL(database.url)).href });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The database is not available: .+\n$/);
});
