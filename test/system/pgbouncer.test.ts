import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createStore, type Store } from '../faults/store.ts';
import { killChildren } from '../support/children.ts';
import { lockTable } from '../support/lock-table.ts';
import { pgbouncerObstacle, pgbouncerVersion, startPgbouncer } from '../support/pgbouncer.ts';
import { readSql } from '../support/psql.ts';
import { runProgram } from '../support/run-program.ts';
import { describeUnless } from '../support/skip.ts';
import { makeTemporaryFolder, removeDataFolder } from '../support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Roles belong to the whole server, so this name is unique. */
const role = `pooled_${randomBytes(4).toString('hex')}`;
const password = 'pooled';
const roleFile = readSql('deploy/postgres/store-role.sql').replaceAll('plant_store_server', role);

describeUnless(pgbouncerObstacle, `behind ${pgbouncerVersion} in transaction mode`, () => {
  let folder: string;
  let database: TestDatabase;
  let pgbouncer: Awaited<ReturnType<typeof startPgbouncer>>;
  let direct: string;
  let token: string;
  let logFile: string;

  beforeAll(async () => {
    folder = makeTemporaryFolder();
    database = await createTestDatabase();
    await database.query(roleFile);
    await database.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
    direct = Object.assign(new URL(database.url), { username: role, password }).href;
    pgbouncer = await startPgbouncer(direct, folder);
    const created = await runProgram(['token', 'create', '--name', 'alice'], { DATABASE_URL: pgbouncer.url });
    token = created.stdout.trim();
    expect([created.code, created.stderr]).toEqual([0, expect.stringContaining('Save this token')]);
  });
  beforeEach(() => database.query('TRUNCATE plants, rate_limits'));
  afterAll(async () => {
    await pgbouncer?.stop();
    killChildren();
    await database.drop();
    await database.administer(`DROP ROLE ${role}`);
    removeDataFolder(folder);
  });

  const withStore = async (environment: Record<string, string>, use: (store: Store) => Promise<void>) => {
    logFile = join(folder, `log-${randomBytes(4).toString('hex')}`);
    const store = await createStore({ databaseUrl: pgbouncer.url, logFile, environment });
    try {
      await use(store);
    } finally {
      await store.stop();
    }
  };
  const callOn =
    (store: Store) =>
    async (method: string, path: string, body?: object | string, type = 'application/json') => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
      const text = typeof body === 'object' ? JSON.stringify(body) : body;
      const response = await fetch(store.url + path, { method, headers, ...(text && { body: text }) });
      return [response.status, await response.text()] as const;
    };

  test('every operation works without DIRECT_URL, except imports', async () => {
    await withStore({ RATE_LIMIT: '1000000/60' }, async (store) => {
      const call = callOn(store);
      const importing = (query: string, text: string) =>
        call('POST', `/plants/import${query}`, text, 'application/x-ndjson');
      // More than once, on connections that other statements have used.
      for (const id of [1, 2, 3]) {
        expect(await call('POST', '/plants', { id, name: 'Fir' })).toEqual([200, '{"name":"Fir"}']);
        expect(await call('POST', '/plants', { id, name: 'Fir' })).toEqual([400, expect.stringContaining('1004')]);
        expect(await call('GET', `/plants/${id}`)).toEqual([200, `{"id":${id},"name":"Fir"}`]);
        expect(await call('PUT', `/plants/${id}`, { name: 'Yew', tag: 'a' })).toEqual([200, expect.any(String)]);
        expect(await call('PATCH', `/plants/${id}`, { tag: 'b' })).toEqual([200, expect.stringContaining('"b"')]);
        expect((await call('GET', '/plants?limit=1'))[0]).toBe(200);
        expect(await call('GET', '/plants?tag=b&q=ye')).toEqual([200, `[{"id":${id},"name":"Yew","tag":"b"}]`]);
        expect(await call('GET', `/plants?id=${id}&id=7`)).toEqual([200, expect.stringContaining('Yew')]);
        expect(await call('GET', '/plants/export')).toEqual([200, `{"id":${id},"name":"Yew","tag":"b"}\n`]);
        expect(await call('GET', '/plants/export?q=yew')).toEqual([200, `{"id":${id},"name":"Yew","tag":"b"}\n`]);
        expect((await call('DELETE', `/plants/${id}`))[0]).toBe(204);
      }
      const rows = '{"id":1,"name":"Fir"}\n{"id":2,"name":"Yew"}\n';
      for (const query of ['', '?dryRun=true', '?atomic=true']) {
        const [status, text] = await importing(query, rows);
        expect([status, JSON.parse(text)]).toEqual([
          503,
          { error: 1501, message: expect.stringContaining('DIRECT_URL') },
        ]);
      }
      // The server of the tests runs without fsync, of which the store warns.
      const others = () =>
        (readFileSync(logFile, 'utf8').match(/^.*"level":"(warn|error|fatal)".*$/gm) ?? []).filter(
          (line) => !/can lose confirmed plants|"path":"\/plants\/import"/.test(line),
        );
      // The log is written twice a second.
      await waitUntil('the warning', () => readFileSync(logFile, 'utf8').includes('"path":"/plants/import"'));
      expect(others()).toEqual([expect.stringContaining('imports need DIRECT_URL')]);
    });
    expect(await database.query('SELECT count(*)::int AS keys FROM rate_limits')).toEqual([{ keys: 1 }]);
    const { stdout } = await runProgram(['token', 'list'], { DATABASE_URL: pgbouncer.url });
    expect(stdout).toMatch(/^alice +valid/m);
  });

  test('with DIRECT_URL everything works', async () => {
    await withStore({ DIRECT_URL: direct }, async (store) => {
      const row = '{"id":20,"name":"Fir"}';
      for (const query of ['?dryRun=true', '?onConflict=replace', '?onConflict=replace&dryRun=true'])
        expect((await callOn(store)('POST', `/plants/import${query}`, row, 'application/x-ndjson'))[0]).toBe(200);
      expect(await callOn(store)('GET', '/plants/export')).toEqual([200, expect.stringContaining(row)]);
    });
    const environment = { DATABASE_URL: pgbouncer.url, DIRECT_URL: database.url };
    const run = async (...words: string[]) => (await runProgram(words, environment)).stdout;
    expect(await run('migrate')).toBe('Nothing to apply.\n');
    expect(await run('search-index', 'create')).toBe('Created the search index.\n');
    expect(await run('search-index', 'drop')).toBe('Dropped the search index.\n');
  });

  test.each([
    [['migrate'], 'Migrating'],
    [['search-index', 'create'], 'Changing the search index'],
    [['search-index', 'drop'], 'Changing the search index'],
    [['import', '-'], 'Importing'],
  ])('%j without DIRECT_URL says that it needs it', async (words, task) => {
    const { code, stderr } = await runProgram(words, { DATABASE_URL: pgbouncer.url });
    const message = `${task} needs a session, and DATABASE_URL goes through a pooler (pgbouncer=true). Set DIRECT_URL`;
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  test.each([
    ['statement_timeout', 0],
    ['statement_timeout', 60_000],
    ['lock_timeout', 0],
    ['lock_timeout', 1001],
  ])('a role whose %s is %i ms is refused, and what it says to run helps', async (setting, timeout) => {
    await database.query(`ALTER ROLE ${role} SET ${setting} = ${timeout}`);
    await pgbouncer.command('RECONNECT');
    const { code, stderr } = await runProgram(['serve'], { DATABASE_URL: pgbouncer.url, NODE_ENV: 'production' });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`a ${setting} of ${timeout} ms`)]);
    const [, statements = ''] = /run: (.*;) and in the console/.exec(stderr) ?? [];
    await database.query(statements);
    await pgbouncer.command('RECONNECT');
    await withStore({}, async (store) => expect((await callOn(store)('GET', '/plants'))[0]).toBe(200));
  });

  test.each([
    ['statement_timeout', { statement_timeout: '800ms', lock_timeout: '1s' }, '2', '1505'],
    ['lock_timeout', { statement_timeout: '6s', lock_timeout: '400ms' }, '10', '1500'],
  ])('the %s of the role holds for a search, and not for an import', async (_title, limits, requestTimeout, code) => {
    const set = async (settings: typeof limits) => {
      for (const [name, value] of Object.entries(settings))
        await database.query(`ALTER ROLE ${role} SET ${name} = '${value}'`);
      await pgbouncer.command('RECONNECT');
    };
    await set(limits);
    await withStore({ REQUEST_TIMEOUT: requestTimeout, DIRECT_URL: direct }, async (store) => {
      // PgBouncer opens new connections now, for which this short timeout may leave too little time.
      await waitUntil('a page', async () => (await callOn(store)('GET', '/plants?tag=none'))[0] === 200);
      const unlock = await lockTable(database.url, 'plants');
      const importing = callOn(store)('POST', '/plants/import', '{"id":30,"name":"Fir"}', 'application/x-ndjson');
      expect(await callOn(store)('GET', '/plants?tag=none')).toEqual([503, expect.stringContaining(code)]);
      await unlock();
      expect(await importing).toEqual([200, expect.stringContaining('"created":1')]);
    });
    await set({ statement_timeout: '6s', lock_timeout: '400ms' });
  });

  test('once it opens no more connections, statements wait for those that are open, and the service is ready', async () => {
    await withStore({}, async (store) => {
      const call = callOn(store);
      expect((await call('GET', '/plants'))[0]).toBe(200);
      // One of them is that of its console.
      await pgbouncer.command('SET max_client_conn = 2');
      try {
        const statuses = await Promise.all(
          Array.from({ length: 100 }, async (_, id) => [
            (await call('POST', '/plants', { id, name: 'Fir' }))[0],
            (await call('PUT', `/plants/${id}`, { name: 'Yew' }))[0],
            (await call('GET', `/plants/count?q=${id}`))[0],
          ]),
        );
        expect([...new Set(statuses.flat())]).toEqual([200]);
        expect((await call('GET', '/readyz'))[0]).toBe(200);
      } finally {
        await waitUntil('its console', () =>
          pgbouncer.command('SET max_client_conn = 100').then(
            () => true,
            () => false,
          ),
        );
      }
    });
  });

  test('a URL that does not name the pooler: what it refuses is explained, and what it drops is warned of', async () => {
    const DATABASE_URL = pgbouncer.url.replace('pgbouncer=true', '');
    const advice = expect.stringMatching(/A pooler refuses time limits: add \?pgbouncer=true .*set DIRECT_URL/);
    for (const command of ['migrate', 'token list', 'serve'])
      expect(await runProgram(command.split(' '), { DATABASE_URL })).toMatchObject({ code: 1, stderr: advice });
    await pgbouncer.command("SET ignore_startup_parameters = 'statement_timeout, lock_timeout'");
    await withStore({ DATABASE_URL }, () =>
      waitUntil('the warning', () => /"warn".*a pooler drops time limits/.test(readFileSync(logFile, 'utf8'))),
    );
    await pgbouncer.command("SET ignore_startup_parameters = ''");
  });

  test('no request of 64 clients fails, and each plant is stored', async () => {
    await withStore({}, async (store) => {
      const call = callOn(store);
      const statuses: Record<string, number> = {};
      const count = async (name: string, answer: Promise<readonly [number, string]>) => {
        const [status, text] = await answer;
        const key = `${name} ${status}${status >= 500 ? ` ${text}` : ''}`;
        statuses[key] = (statuses[key] ?? 0) + 1;
      };
      const endAt = performance.now() + 4000;
      const client = async (number: number) => {
        for (let id = 1000 + number * 1_000_000; performance.now() < endAt; id++) {
          await count('POST', call('POST', '/plants', { id, name: `Fir ${id}`, tag: 'load' }));
          await count('GET', call('GET', `/plants/${id}`));
          if (id % 8 > 0) continue;
          await count('PUT', call('PUT', `/plants/${id}`, { name: 'Yew', tag: 'load' }));
          await count('page', call('GET', `/plants?limit=5`));
          await count('search', call('GET', `/plants?tag=none`));
        }
      };
      const exporting = call('GET', '/plants/export');
      await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)));
      expect((await exporting)[0]).toBe(200);
      expect(Object.keys(statuses).sort()).toEqual(['GET 200', 'POST 200', 'PUT 200', 'page 200', 'search 200']);
      const [row] = await database.query("SELECT count(*)::int AS stored FROM plants WHERE tag = 'load'");
      expect(row).toEqual({ stored: statuses['POST 200'] });
    });
  });

  test('what PgBouncer refuses before anything is sent changed nothing, and the answer says so', async () => {
    await withStore({ DATABASE_CONNECTIONS: '2' }, async (store) => {
      const post = () => callOn(store)('POST', '/plants', { id: 40, name: 'Fir' });
      const nothing = [503, expect.stringMatching(/"error":1501,.*nothing was changed/)];
      // Asks for the token first, which is remembered.
      expect((await callOn(store)('GET', '/plants'))[0]).toBe(200);
      await pgbouncer.command('SET max_client_conn = 1');
      await pgbouncer.command(`KILL "${database.name}"`);
      await waitUntil('a refusal', async () => (await post())[0] === 503);
      expect(await post()).toEqual(nothing);
      await pgbouncer.command('SET max_client_conn = 100');
      await pgbouncer.command(`RESUME "${database.name}"`);
      await waitUntil('an answer of 200', async () => (await post())[0] === 200, {
        explain: () =>
          readFileSync(join(folder, 'pgbouncer', 'log'), 'utf8') + readFileSync(logFile, 'utf8').slice(-3000),
      });
    });
  });
});
