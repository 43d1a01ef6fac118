import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { killChildren } from '../support/children.ts';
import { runProgram } from '../support/run-program.ts';
import { spawnCommand } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

afterEach(killChildren);
const database = useTestDatabase({ each: true });

const searchIndex = (command: string, url = database.url) =>
  runProgram(['search-index', command], { DATABASE_URL: url, NODE_ENV: 'production' });
const indexes = () =>
  database.query("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('plants_name_idx')");
const drift = () =>
  spawnSync(process.execPath, ['test/support/prisma-engine.ts', database.url, 'diff'], { encoding: 'utf8' });
const NO_DRIFT = { stdout: '-- This is an empty migration.\n', status: 0 };

/** Holds a snapshot, for which CREATE INDEX CONCURRENTLY has to wait. */
const openSnapshot = async (setting = '') => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`${setting}; BEGIN ISOLATION LEVEL REPEATABLE READ`);
  await client.query('SELECT FROM plants');
  return client;
};

test('a new database has neither the index nor pg_trgm, and `prisma migrate diff` finds no drift', async () => {
  expect(await indexes()).toEqual([]);
  expect(await database.query("SELECT FROM pg_extension WHERE extname = 'pg_trgm'")).toEqual([]);
  expect(await searchIndex('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^There is no search/) });
  expect(drift()).toMatchObject(NO_DRIFT);
});

test('create and drop do their work once, and `prisma migrate diff` finds no drift in between', async () => {
  await database.query("INSERT INTO plants SELECT i, 'Fir ' || md5(i::text) FROM generate_series(1, 20000) i");
  expect(await searchIndex('create')).toMatchObject({ code: 0, stdout: 'Created the search index.\n' });
  expect(await searchIndex('create')).toMatchObject({ code: 0, stdout: 'The search index exists already.\n' });
  expect(await searchIndex('status')).toMatchObject({
    stdout: expect.stringMatching(/search index of \d+\.\d MiB\.\n$/),
  });
  await database.query('ANALYZE plants');
  const plan = await database.query("EXPLAIN SELECT id FROM plants WHERE name ILIKE '%c4ca4238%'");
  expect(JSON.stringify(plan)).toContain('plants_name_idx');
  expect(drift()).toMatchObject(NO_DRIFT);
  expect(await searchIndex('drop')).toMatchObject({ code: 0, stdout: 'Dropped the search index.\n' });
  expect(await searchIndex('drop')).toMatchObject({ code: 0, stdout: 'There is no search index.\n' });
  expect(await indexes()).toEqual([]);
});

test('create replaces an index that an interrupted creation left', async () => {
  await searchIndex('create');
  await database.query("UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'plants_name_idx'::regclass");
  expect(await searchIndex('status')).toMatchObject({ stdout: expect.stringContaining('incomplete') });
  expect(await searchIndex('create')).toMatchObject({ code: 0, stdout: 'Created the search index.\n' });
  expect(await indexes()).toEqual([{ indisvalid: true }]);
});

const creations = async (condition = 'TRUE') => {
  const running = "state = 'active' AND query LIKE '%CREATE INDEX CONCURRENTLY%' AND pid <> pg_backend_pid()";
  return (
    await database.query(
      `SELECT FROM pg_stat_activity WHERE ${running} AND ${condition} AND datname = current_database()`,
    )
  ).length;
};
const LEFT =
  'This can leave an incomplete search index, which slows down writes: run search-index create again, or search-index drop.';

test.each(['SIGINT', 'SIGKILL'] as const)(
  'PostgreSQL ends a creation that %s interrupts, although it waits; a second is refused meanwhile',
  async (signal) => {
    const snapshot = await openSnapshot();
    try {
      const creating = spawnCommand(['search-index', 'create'], { DATABASE_URL: database.url });
      let said = '';
      creating.stderr?.on('data', (chunk) => (said += chunk));
      const ended = new Promise((resolve) => creating.once('exit', resolve));
      await waitUntil('the creation', async () => (await indexes()).length > 0);
      expect(await searchIndex('create')).toMatchObject({
        code: 1,
        stderr: 'Another command is creating or dropping the search index. Wait for it to end.\n',
      });
      creating.kill(signal);
      const [code, message] = signal === 'SIGINT' ? [1, `Interrupted. ${LEFT}\n`] : [null, ''];
      expect([await ended, said]).toEqual([code, message]);
      await waitUntil('the end of the creation', async () => (await creations()) === 0);
      expect(await indexes()).toEqual([{ indisvalid: false }]);
      expect(await searchIndex('status')).toMatchObject({ stdout: expect.stringContaining('incomplete') });
    } finally {
      await snapshot.end();
    }
    expect(await searchIndex('create')).toMatchObject({ code: 0, stdout: 'Created the search index.\n' });
    expect(await indexes()).toEqual([{ indisvalid: true }]);
  },
);

test('Ctrl-C does not end a drop, which would leave an incomplete index', async () => {
  await searchIndex('create');
  const snapshot = await openSnapshot();
  const dropping = spawnCommand(['search-index', 'drop'], { DATABASE_URL: database.url });
  const ended = Promise.all([once(dropping, 'exit'), text(dropping.stdout as Readable)]);
  try {
    await waitUntil('the drop', async () => (await indexes())[0]?.indisvalid === false);
    dropping.kill('SIGINT');
    // Long enough for the signal to arrive.
    expect(await searchIndex('status')).toMatchObject({ stdout: expect.stringContaining('incomplete') });
  } finally {
    await snapshot.end();
  }
  expect(await ended).toEqual([[0, null], 'Dropped the search index.\n']);
  expect(await indexes()).toEqual([]);
});

test('a creation that an administrator cancels says what it leaves', async () => {
  const snapshot = await openSnapshot();
  try {
    const creating = searchIndex('create');
    await waitUntil('the creation', async () => (await indexes()).length > 0);
    await database.query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%CREATE INDEX CONCURRENTLY plants%' AND pid <> pg_backend_pid()",
    );
    const stderr = `canceling statement due to user request. ${LEFT}\n`;
    expect(await creating).toMatchObject({ code: 1, stderr });
  } finally {
    await snapshot.end();
  }
});

test.each(['transaction_timeout', 'lock_timeout'])('no %s of the role or database ends a creation', async (limit) => {
  await database.administer(`ALTER DATABASE ${database.name} SET ${limit} = '300ms'`);
  const snapshot = await openSnapshot('SET transaction_timeout = 0');
  const creating = searchIndex('create');
  await waitUntil('more than that time', async () => (await creations("now() - query_start > '500 ms'")) > 0);
  await snapshot.end();
  expect(await creating).toMatchObject({ code: 0, stdout: 'Created the search index.\n' });
});

test('a read-only server is not taken for one without the extension', async () => {
  await database.administer(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
  const { code, stderr } = await searchIndex('create');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The database is not available: .*read-only/)]);
});

test('another role than the owner gets one line that names the owner', async () => {
  const role = `reader_${database.name}`;
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  try {
    const url = Object.assign(new URL(database.url), { username: role, password: 'x' });
    await database.query(`GRANT SELECT ON plants TO ${role}`);
    expect(await searchIndex('create', url.href)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Only the owner of the table plants may do this\. Connect as the role \w+\.\n$/),
    });
    expect(await searchIndex('status', url.href)).toMatchObject({ code: 0 });
  } finally {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
  }
});

test('says how to install the extension if the owner may not', async () => {
  const role = `owner_${database.name}`;
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  try {
    const url = Object.assign(new URL(database.url), { username: role, password: 'x' });
    await database.query(`GRANT CREATE ON SCHEMA public TO ${role}`);
    await database.query(`ALTER TABLE plants OWNER TO ${role}`);
    const { code, stderr } = await searchIndex('create', url.href);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The search index needs .*: CREATE EXTENSION pg_trgm\n$/),
    ]);
  } finally {
    await database.query(`DROP OWNED BY ${role} CASCADE`);
    await database.query(`DROP ROLE ${role}`);
  }
});

test('the extension may be in any schema', async () => {
  await database.query('CREATE SCHEMA "My Extensions"; CREATE EXTENSION pg_trgm SCHEMA "My Extensions"');
  expect(await searchIndex('create')).toMatchObject({ code: 0, stdout: 'Created the search index.\n' });
});

test('an index of that name on a table of another program is not taken for it', async () => {
  await database.query('CREATE SCHEMA shop; CREATE TABLE shop.goods (name text)');
  await database.query('CREATE INDEX plants_name_idx ON shop.goods (name)');
  await database.administer(`ALTER DATABASE ${database.name} SET search_path = shop, public`);
  expect((await searchIndex('status')).stdout).toMatch(/^There is no search index\./);
  expect(await searchIndex('drop')).toMatchObject({ code: 0, stdout: 'There is no search index.\n' });
  expect(await database.query("SELECT to_regclass('shop.plants_name_idx') AS name")).toEqual([
    { name: 'shop.plants_name_idx' },
  ]);
});

test.each([
  ["LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C'", /^LC_CTYPE of the database is C, .* 'C\.UTF-8' has all\.\n$/],
  // Searches lack them too, of which the start of the service warns.
  ["LOCALE_PROVIDER libc LOCALE 'C'", /^$/],
])('create warns if the index lacks letters that searches have: %s', async (locale, said) => {
  const name = `${database.name}_letters`;
  await database.administer(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${locale}`);
  try {
    const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
    expect((await runProgram(['migrate'], { DATABASE_URL })).code).toBe(0);
    const { code, stderr } = await searchIndex('create', DATABASE_URL);
    expect([code, stderr]).toEqual([0, expect.stringMatching(said)]);
  } finally {
    await database.administer(`DROP DATABASE ${name} WITH (FORCE)`);
  }
});
