import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { query } from '../support/postgres-server.ts';
import { runProgram } from '../support/run-program.ts';
import { cleanEnvironment, runCommand } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';

afterEach(killChildren);
const start = useTestServices();

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterEach(() => database.drop());

const at = (parameters: Record<string, string>, url = database.url) => {
  const result = new URL(url);
  for (const [name, value] of Object.entries(parameters)) result.searchParams.set(name, value);
  return result.href;
};

/** Runs a command in production, where nothing is migrated by the way. */
const run = (url: string, ...words: string[]) => runProgram(words, { DATABASE_URL: url, NODE_ENV: 'production' });

const migrate = async (url: string) => expect(await run(url, 'migrate')).toMatchObject({ code: 0, stderr: '' });

const createToken = async (url: string, name: string) => {
  const { code, stdout } = await run(url, 'token', 'create', '--name', name);
  expect(code).toBe(0);
  return stdout.trim();
};

const names = async (url: string): Promise<string[]> =>
  JSON.parse((await run(url, 'token', 'list', '--json')).stdout).map(({ name }: { name: string }) => name);

/** The schemas that have tables of a store, and how many. */
const tables = async () =>
  Object.fromEntries(
    (
      await database.query(
        `SELECT schemaname, count(*)::int FROM pg_tables
         WHERE tablename IN ('plants', 'tokens', 'rate_limits', 'idempotency_keys', '_prisma_migrations') GROUP BY 1`,
      )
    ).map(({ schemaname, count }) => [schemaname, count]),
  );

/** Works with the store at a URL in every way. */
const useEverything = async (url: string, schema: string) => {
  const token = await createToken(url, 'alice');
  const service = await start({ RATE_LIMIT: '600/60' }, { databaseUrl: url });
  const call = (method: 'get' | 'post' | 'delete', path: string) =>
    service.agent[method](path).set('Authorization', `Bearer ${token}`);
  expect((await service.agent.get('/readyz')).status).toBe(200);
  const post = call('post', '/plants').set('Idempotency-Key', 'a').send({ id: 1, name: 'Fir' });
  expect((await post).status).toBe(200);
  for (const parameters of ['', '?atomic=true', '?onConflict=replace']) {
    const body = `{"id":${2 + parameters.length},"name":"Yew"}`;
    const sent = call('post', `/plants/import${parameters}`).set('Content-Type', 'application/x-ndjson').send(body);
    expect((await sent).body).toMatchObject({ created: 1, failed: 0 });
  }
  expect((await call('get', '/plants?q=fir')).body).toEqual([{ id: 1, name: 'Fir' }]);
  expect((await call('get', '/plants/export')).text.split('\n')).toHaveLength(5);
  expect((await call('delete', '/plants/2')).status).toBe(204);
  const file = join(makeTemporaryFolder(), 'plants.ndjson');
  writeFileSync(file, '{"id":9,"name":"Oak"}');
  expect((await run(url, 'import', file)).code).toBe(0);
  expect((await run(url, 'export')).stdout.trim().split('\n')).toHaveLength(4);
  expect((await run(url, 'search-index', 'create')).stdout).toBe('Created the search index.\n');
  expect((await run(url, 'search-index', 'status')).stdout).toMatch(/^There is a search index/);
  const rows = `SELECT (SELECT count(*)::int FROM "${schema}".plants) AS plants, (SELECT count(*)::int FROM "${schema}".idempotency_keys) AS keys,
    (SELECT count(*)::int FROM "${schema}".rate_limits) AS counters, to_regclass('"${schema}".plants_name_idx') IS NOT NULL AS index`;
  expect(await database.query(rows)).toEqual([{ plants: 4, keys: 1, counters: 1, index: true }]);
};

test('?schema= names the schema of every statement; migrate creates it', async () => {
  const url = at({ schema: 'garden' });
  for (const words of [['token', 'list'], ['serve'], ['export']])
    expect(await run(url, ...words)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The schema "garden" of DATABASE_URL \(\?schema=\) does not exist.*migrate.*\n$/),
    });
  await migrate(url);
  expect(await run(url, 'migrate')).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect(await tables()).toEqual({ garden: 5 });
  await useEverything(url, 'garden');
});

test.each([
  ['the database', (name: string) => `ALTER DATABASE ${name} SET search_path = garden`],
  ['the database, with public behind it', (name: string) => `ALTER DATABASE ${name} SET search_path = garden, public`],
])('the search path of %s names the schema of every statement', async (_title, alter) => {
  await database.query('CREATE SCHEMA garden');
  await database.administer(alter(database.name));
  await migrate(database.url);
  expect(await tables()).toEqual({ garden: 5 });
  await useEverything(database.url, 'garden');
});

test('so does the search path of the role', async () => {
  const role = `gardener_${randomBytes(4).toString('hex')}`;
  await database.administer(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  try {
    await database.administer(`ALTER ROLE ${role} SET search_path = garden`);
    await database.query(`CREATE SCHEMA garden AUTHORIZATION ${role}`);
    const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).href;
    await migrate(url);
    await createToken(url, 'alice');
    expect([await names(url), await tables()]).toEqual([['alice'], { garden: 5 }]);
    // Its schema exists, so it needs no privilege to create one.
    expect(await run(at({ schema: 'garden' }, url), 'migrate')).toMatchObject({ code: 0 });
  } finally {
    await database.query(`DROP OWNED BY ${role} CASCADE`);
    await database.administer(`DROP ROLE ${role}`);
  }
});

test('two stores in one database know nothing of each other', async () => {
  const [one, other] = [database.url, at({ schema: 'garden' })];
  await migrate(one);
  await migrate(other);
  const tokens = [await createToken(one, 'alice'), await createToken(other, 'alice')];
  await createToken(other, 'bob');
  expect([await names(one), await names(other)]).toEqual([['alice'], ['alice', 'bob']]);
  expect((await run(one, 'token', 'revoke', 'bob')).code).toBe(1);
  expect((await run(other, 'token', 'revoke', 'alice')).code).toBe(0);
  const statuses = await Promise.all(
    [one, other].map(async (databaseUrl) => {
      const { agent } = await start({}, { databaseUrl });
      const read = async (token = '') => (await agent.get('/plants').set('Authorization', `Bearer ${token}`)).status;
      return [await read(tokens[0]), await read(tokens[1])];
    }),
  );
  expect(statuses).toEqual([
    [200, 401],
    [401, 401],
  ]);
  expect((await run(one, 'search-index', 'create')).code).toBe(0);
  expect((await run(other, 'search-index', 'status')).stdout).toMatch(/^There is no search index/);
  expect((await run(other, 'search-index', 'drop')).stdout).toBe('There is no search index.\n');
  // The search path finds all of the first schema.
  await database.administer(`ALTER DATABASE ${database.name} SET search_path = garden, public`);
  expect(await names(database.url)).toEqual(['alice', 'bob']);
});

test.each([
  'My Schema',
  'GARDEN',
  'a"b',
  "x'; DROP SCHEMA public CASCADE; --",
  'x -c statement_timeout=1',
  'a\\ b',
  'ü, public',
])('a schema named %s', async (schema) => {
  const url = at({ schema });
  await migrate(url);
  expect(await tables()).toEqual({ [schema]: 5 });
  const token = await createToken(url, 'alice');
  expect(await names(url)).toEqual(['alice']);
  const { agent } = await start({}, { databaseUrl: url });
  expect((await agent.get('/readyz')).status).toBe(200);
  expect((await agent.get('/plants').set('Authorization', `Bearer ${token}`)).status).toBe(200);
});

test('the store stays where the search path finds all of it', async () => {
  await migrate(database.url);
  await createToken(database.url, 'alice');
  await database.query('CREATE SCHEMA garden');
  await database.administer(`ALTER DATABASE ${database.name} SET search_path = garden, public`);
  expect(await run(database.url, 'migrate')).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect(await names(database.url)).toEqual(['alice']);
  // A pending migration is applied there, too.
  await database.query('DROP TABLE idempotency_keys');
  await database.query("DELETE FROM public._prisma_migrations WHERE migration_name LIKE '%idempotency_keys'");
  await migrate(database.url);
  expect(await tables()).toEqual({ public: 5 });
});

test('a table of another program in the search path is not taken for one of the store', async () => {
  await migrate(database.url);
  await database.query('CREATE SCHEMA garden');
  await database.query('CREATE TABLE garden.tokens (LIKE public.tokens)');
  await database.administer(`ALTER DATABASE ${database.name} SET search_path = garden, public`);
  expect(await run(database.url, 'token', 'create', '--name', 'alice')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/search_path \(garden, public\) finds .*plants in "public".*\?schema=/),
  });
  await createToken(at({ schema: 'public' }), 'alice');
  expect(await database.query('SELECT name FROM public.tokens')).toEqual([{ name: 'alice' }]);
});

test('a table plants of another program does not decide where the tables of the store go', async () => {
  await database.query('CREATE SCHEMA garden; CREATE SCHEMA shop; CREATE TABLE shop.plants (price int)');
  await database.administer(`ALTER DATABASE ${database.name} SET search_path = garden, shop`);
  await migrate(database.url);
  expect(await tables()).toEqual({ garden: 5, shop: 1 });
});

describe('refused at the start, by every command', () => {
  const COMMANDS = ['serve', 'migrate', 'token list', 'export', 'search-index status', 'studio --browser none'];

  test('a search path without a schema', async () => {
    await database.administer(`ALTER DATABASE ${database.name} SET search_path = nothing, nowhere`);
    for (const command of COMMANDS)
      expect(await run(database.url, ...command.split(' '))).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^The search_path of .* is nothing, nowhere, and no schema in it exists.*\n$/),
      });
  });

  test('?schema= through a pooler', async () => {
    const url = at({ schema: 'My Garden', pgbouncer: 'true' });
    for (const command of COMMANDS)
      expect(await run(url, ...command.split(' '))).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^DATABASE_URL names the schema "My Garden".*ALTER ROLE "\w+" SET search_path = "My Garden".*\n$/,
        ),
      });
  });

  test.each([
    ['in both URLs', { schema: 'garden' }, { schema: 'meadow' }],
    ['in DIRECT_URL', {}, { schema: 'garden' }],
    ['in DATABASE_URL', { schema: 'garden' }, {}],
  ])('a DIRECT_URL with another schema, %s', async (_title, own, direct) => {
    for (const command of COMMANDS) {
      const environment = { DATABASE_URL: at(own), DIRECT_URL: at(direct), NODE_ENV: 'production' };
      expect(await runProgram(command.split(' '), environment)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^DATABASE_URL uses the schema "\w+", and DIRECT_URL "\w+"\. They must agree.*\n$/,
        ),
      });
    }
    expect(await tables()).toEqual({});
  });
});

test('a role that may not create the schema: a message, and no stack', async () => {
  const role = `gardener_${randomBytes(4).toString('hex')}`;
  await database.administer(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  try {
    const url = Object.assign(new URL(at({ schema: 'garden' })), { username: role, password: 'x' }).href;
    const { code, stderr } = await run(url, 'migrate');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The database denies access: permission denied .*\n$/)]);
  } finally {
    await database.administer(`DROP ROLE ${role}`);
  }
});

test('PGOPTIONS changes nothing, for the commands as for the store', async () => {
  await migrate(database.url);
  const environment = { PGOPTIONS: '-c search_path=nothing', DATABASE_URL: database.url, NODE_ENV: 'production' };
  expect(cleanEnvironment(environment).PGOPTIONS).toBe('-c search_path=nothing');
  expect(await runCommand(['migrate'], environment)).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect(await runCommand(['token', 'list'], environment)).toMatchObject({ code: 0 });
});

test('options= in the URL are kept', async () => {
  await database.query('CREATE SCHEMA garden');
  await migrate(at({ options: '-c search_path=garden' }));
  expect(await tables()).toEqual({ garden: 5 });
});

test('migrates a database with another date style, and notes the right times', async () => {
  await database.administer(`ALTER DATABASE ${database.name} SET datestyle = 'German'`);
  await database.administer(`ALTER DATABASE ${database.name} SET timezone = 'America/New_York'`);
  await migrate(database.url);
  await database.query('DROP TABLE idempotency_keys');
  await database.query("DELETE FROM _prisma_migrations WHERE migration_name LIKE '%idempotency_keys'");
  await migrate(database.url);
  const ages = `SELECT abs(extract(epoch FROM now() - least(started_at, finished_at)))::int AS age FROM _prisma_migrations`;
  for (const { age } of await query(database.url, ages)) expect(age).toBeLessThan(60);
});
