import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CONNECT_TIMEOUT } from '../../src/database/database.ts';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { killChildren } from '../support/children.ts';
import { lockTable, terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { runProgram } from '../support/run-program.ts';
import { makeDataFolder, makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase();
afterEach(killChildren);

const run = (...words: string[]) => runProgram(words, { DATABASE_URL: database.url });

describe('a database that cannot be used: a one-line message', () => {
  const COMMANDS = [
    ['migrate', {}],
    ['token list', {}],
    ['serve', { NODE_ENV: 'development' }],
  ] as const;

  test.each(COMMANDS)('it closes connections at once: %s', async (command, environment) => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const DATABASE_URL = `postgresql://x:y@127.0.0.1:${port}/x`;
    const { code, stderr } = await runProgram(command.split(' '), { DATABASE_URL, ...environment });
    server.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database is not available: .+\n$/);
  });

  test.each([...COMMANDS, ['serve', { NODE_ENV: 'production' }], ['studio --browser none', {}]] as const)(
    'it is not in UTF-8: %s %j',
    async (command, environment) => {
      for (const encoding of ['LATIN1', 'SQL_ASCII']) {
        const name = `${database.name}_${encoding.toLowerCase()}`;
        await database.administer(
          `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc`,
        );
        const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
        const result = await runProgram(command.split(' '), { DATABASE_URL, PORT: '0', ...environment });
        await database.administer(`DROP DATABASE ${name} WITH (FORCE)`);
        expect(result).toEqual({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(new RegExp(`^The encoding of the database is ${encoding}, .+ UTF8.+\n$`)),
        });
      }
    },
  );

  test('DATA_DIR is a file', async () => {
    const folder = makeTemporaryFolder();
    const DATA_DIR = join(folder, 'file');
    writeFileSync(DATA_DIR, '');
    const results = [];
    for (const command of ['serve', 'migrate', 'token list'])
      results.push(await runProgram(command.split(' '), { DATA_DIR }));
    results.push(await runProgram(['migrate'], { DATA_DIR: join(DATA_DIR, 'in-it') }));
    rmSync(folder, { recursive: true });
    for (const { code, stderr } of results) {
      expect(code).toBe(1);
      expect(stderr).toMatch(/^.*(EEXIST|ENOTDIR).*\. DATA_DIR .+\n$/);
    }
  });
});

test.each(['migrate', 'token list', 'count', 'export -', 'import test/fixtures/spreadsheets/comma-utf-8.csv'])(
  'commands wait for a database that is far away, longer than requests: %s',
  async (command) => {
    const { hostname, port } = new URL(database.url);
    const server = createServer(async (socket) => {
      await setTimeout(CONNECT_TIMEOUT + 200);
      const upstream = connect(Number(port), hostname).on('error', () => {});
      socket.on('error', () => {}).on('close', () => upstream.destroy());
      socket.pipe(upstream).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const far = { hostname: '127.0.0.1', port: String((server.address() as AddressInfo).port) };
    const DATABASE_URL = Object.assign(new URL(database.url), far).href;
    expect(await runProgram(command.split(' '), { DATABASE_URL, REQUEST_TIMEOUT: '1s' })).toMatchObject({ code: 0 });
    server.close();
  },
);

describe('only migrate and serve migrate the database at DATABASE_URL', () => {
  const empty = useTestDatabase({ migrated: false, each: true });
  const tables = () => empty.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace");

  test.each([['token list'], ['token create --name x'], ['token revoke x']])(
    '%s fails with a message',
    async (command) => {
      const { code, stderr } = await runProgram(command.split(' '), {
        DATABASE_URL: empty.url,
        NODE_ENV: 'development',
      });
      const message =
        /^The database is not migrated\. Run: plant-store migrate\. If it is, the search_path leads elsewhere\. Check DATABASE_URL: /;
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
      expect(await tables()).toEqual([]);
    },
  );
});

describe('a statement that fails is explained in a sentence', () => {
  const limited = () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c lock_timeout=200');
    return { DATABASE_URL: url.href };
  };

  test.each([
    ['tokens', 'token list'],
    ['tokens', 'token create --name locked'],
    ['tokens', 'token revoke locked'],
    ['plants', 'export'],
    ['_prisma_migrations', 'migrate'],
  ])('the table %s is locked: %s', async (table, command) => {
    const unlock = await lockTable(database.url, table);
    const { code, stderr } = await runProgram(command.split(' '), limited());
    await unlock();
    const reason = 'Another transaction is in the way: canceling statement due to lock timeout.';
    expect([code, stderr]).toEqual([1, `${reason} Try again later.\n`]);
  });

  test('the plants are locked: import waits longer than the role may', async () => {
    const folder = makeTemporaryFolder();
    const file = join(folder, 'plants.ndjson');
    writeFileSync(file, '{"id":1,"name":"Fir"}\n');
    const unlock = await lockTable(database.url, 'plants');
    const importing = runProgram(['import', file], limited());
    await waitForBlocked(database, 'plants');
    await setTimeout(500);
    await unlock();
    const { code, stdout } = await importing;
    rmSync(folder, { recursive: true });
    expect([code, stdout]).toEqual([0, expect.stringContaining('created')]);
  });

  test.each(['token create --name broken', 'token revoke broken'])(
    '%s whose connection breaks does not say that nothing was changed',
    async (command) => {
      const unlock = await lockTable(database.url, 'tokens');
      const running = run(...command.split(' '));
      await waitForBlocked(database);
      await terminateBlocked(database);
      const { code, stderr } = await running;
      await unlock();
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          /^The connection to the database was lost, so it is unknown whether anything was changed: /,
        ),
      ]);
    },
  );
});

describe('a role that the database refuses: the message names the setting, role and database', () => {
  const role = `gardener_${process.pid}`;
  const urlAs = (password: string) => Object.assign(new URL(database.url), { username: role, password }).href;
  beforeAll(async () => {
    await database.administer(`CREATE ROLE ${role} NOLOGIN PASSWORD 'right'`);
  });
  afterAll(async () => {
    await database.administer(`DROP ROLE ${role}`);
  });
  const COMMANDS = ['serve', 'migrate', 'token list', 'export', 'search-index status'];
  const target = () =>
    `Check DATABASE_URL: role "${role}", database "${database.name}" at ${new URL(database.url).host}.`;

  test.each(COMMANDS)('that may not log in: %s', async (command) => {
    const { code, stderr } = await runProgram(command.split(' '), { DATABASE_URL: urlAs('right') });
    const reason = `The database is not available: role "${role}" is not permitted to log in.`;
    expect([code, stderr]).toEqual([1, `${reason} ${target()}\n`]);
  });

  test('that needs a password which is missing', async () => {
    const { stderr } = await runProgram(['migrate'], { DATABASE_URL: urlAs('') });
    expect(stderr).toContain(` (a password is needed, in the URL or PGPASSWORD). ${target()}\n`);
  });

  test.each(COMMANDS.slice(0, 4))('that lacks privileges: %s', async (command) => {
    await database.administer(`ALTER ROLE ${role} LOGIN`);
    const { code, stderr } = await runProgram(command.split(' '), { DATABASE_URL: urlAs('right') });
    await database.administer(`ALTER ROLE ${role} NOLOGIN`);
    expect([code, stderr]).toEqual([1, expect.stringContaining('permission denied for table ')]);
    expect(stderr).toContain(target());
  });
});

test('the embedded PostgreSQL refuses: the message names it and its log', async () => {
  const folder = makeDataFolder();
  const { release } = await leaseEmbeddedPostgres(folder);
  try {
    writeFileSync(join(folder, 'postgres-password'), 'wrong');
    const { code, stderr } = await runProgram(['token', 'list'], { DATA_DIR: folder });
    expect([code, stderr]).toEqual([
      1,
      'The database is not available: password authentication failed for user "plant_store". ' +
        `It is the embedded PostgreSQL (role "plant_store"). Its log is in ${join(folder, 'postgres', 'log')}.\n`,
    ]);
  } finally {
    await release();
    rmSync(folder, { recursive: true });
  }
});
