import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { projectFolder, runCommand, runCommandOnFullDisk, spawnCommand } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
afterEach(killChildren);

const run = (...words: string[]) => runCommand(words, { DATABASE_URL: database.url });

describe('token create', () => {
  test('refuses a name that is in use, even by a revoked token', async () => {
    await run('token', 'create', '--name', 'twice');
    await run('token', 'revoke', 'twice');
    const { code, stdout, stderr } = await run('token', 'create', '--name', 'twice');
    expect([code, stdout, stderr]).toEqual([1, '', 'A token named "twice" already exists.\n']);
  });

  test('creates none with --if-none if there is one', async () => {
    await run('token', 'create', '--name', 'any');
    expect(await run('token', 'create', '--name', 'another', '--if-none')).toMatchObject({ code: 0, stdout: '' });
  });

  test('grants the requested scopes', async () => {
    const { stderr } = await run('token', 'create', '--name', 'reader', '--scope', 'plants:read');
    const [row] = await database.query("SELECT scopes FROM tokens WHERE name = 'reader'");
    expect(row?.scopes).toEqual(['plants:read']);
    // The example is one that the token may run.
    expect(stderr).toMatch(/Read plants:\ncurl http:\S+\/plants -H 'Authorization: Bearer plant_[^']+'\n$/);
    const writer = await run('token', 'create', '--name', 'writer', '--scope', 'plants:read', 'plants:write');
    expect(writer.stderr).toMatch(/Store a plant:\ncurl .* -d '\{"id": /);
    await run('token', 'create', '--name', 'commas', '--scope', 'plants:write,plants:read', '--scope', 'plants:read');
    const [commas] = await database.query("SELECT scopes FROM tokens WHERE name = 'commas'");
    expect(commas?.scopes).toEqual(['plants:write', 'plants:read']);
    await run('token', 'create', '--name', 'all');
    const [all] = await database.query("SELECT scopes FROM tokens WHERE name = 'all'");
    expect(all?.scopes).toEqual(['plants:read', 'plants:write']);
    const { code, stderr: refusal } = await run('token', 'create', '--name', 'x', '--scope', 'plants:read,all');
    expect([code, refusal]).toEqual([2, expect.stringContaining('separate several by spaces or commas')]);
  });
});

test('token list shows the hour in which each token was last used', async () => {
  await run('token', 'create', '--name', 'busy');
  await run('token', 'create', '--name', 'unused');
  await database.query("UPDATE tokens SET last_used_at = '2026-03-01T12:00:00Z' WHERE name = 'busy'");
  const { stdout } = await run('token', 'list');
  const [head = '', ...rows] = stdout.split('\n');
  const column = head.indexOf('LAST USED (UTC)');
  const shown = (name: string) =>
    rows
      .find((row) => row.startsWith(`${name} `))
      ?.slice(column, column + 16)
      .trim();
  expect([shown('busy'), shown('unused')]).toEqual(['2026-03-01 12:00', '-']);
  const json: { name: string; lastUsedAt: unknown }[] = JSON.parse((await run('token', 'list', '--json')).stdout);
  const times = new Map(json.map(({ name, lastUsedAt }) => [name, lastUsedAt]));
  expect([times.get('busy'), times.get('unused')]).toEqual(['2026-03-01T12:00:00.000Z', null]);
});

test('a database can be reached through a Unix socket', async () => {
  const folder = makeTemporaryFolder();
  const { hostname, port, username, password, pathname } = new URL(database.url);
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    socket.on('error', () => {}).on('close', () => upstream.destroy());
    socket.pipe(upstream.on('error', () => {})).pipe(socket);
  });
  await once(server.listen(join(folder, '.s.PGSQL.5432')), 'listening');
  const url = `postgresql://${username}:${password}@${pathname}?host=${folder}`;
  const { code, stderr } = await runCommand(['token', 'create', '--name', 'socket'], { DATABASE_URL: url });
  server.close();
  rmSync(folder, { recursive: true });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Save this token/)]);
  expect(await database.query("SELECT 1 AS one FROM tokens WHERE name = 'socket'")).toHaveLength(1);
});

test('token list shows names and states, but no tokens', async () => {
  const { stdout: token } = await run('token', 'create', '--name', 'listed', '--expires', '1s');
  await run('token', 'create', '--name', 'gone');
  await run('token', 'revoke', 'gone');
  let stdout = '';
  await waitUntil('the expiry', async () => {
    stdout = (await run('token', 'list')).stdout;
    return /^listed +expired /m.test(stdout);
  });
  expect(stdout).toMatch(/^NAME +STATE +CREATED/);
  expect(stdout).toMatch(/^listed +expired /m);
  expect(stdout).toMatch(/^gone +revoked /m);
  expect(stdout).not.toContain(token.trim().slice(6));
  const rows = JSON.parse((await run('token', 'list', '--json')).stdout);
  expect(rows).toContainEqual(
    expect.objectContaining({ name: 'gone', state: 'revoked', revokedAt: expect.any(String) }),
  );
});

describe('token revoke', () => {
  test('can be repeated', async () => {
    await run('token', 'create', '--name', 'leaving');
    expect(await run('token', 'revoke', 'leaving')).toMatchObject({ code: 0, stdout: '' });
    const [before] = await database.query("SELECT revoked_at FROM tokens WHERE name = 'leaving'");
    expect((await run('token', 'revoke', 'leaving')).code).toBe(0);
    expect(await database.query("SELECT revoked_at FROM tokens WHERE name = 'leaving'")).toEqual([before]);
  });

  test('fails for an unknown name', async () => {
    expect(await run('token', 'revoke', 'nobody')).toMatchObject({
      code: 1,
      stderr: 'There is no token named "nobody".\n',
    });
  });
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8'));
  expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('openapi prints openapi.json', async () => {
  const { code, stdout } = await runCommand(['openapi']);
  expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(readFileSync('openapi.json', 'utf8'))]);
});

test('config prints the settings, or what is wrong with them', async () => {
  const { code, stdout } = await runCommand(['config'], { WORKERS: '2' });
  expect([code, stdout]).toEqual([0, expect.stringContaining('\nWORKERS=2  # environment\n')]);
  expect(await runCommand(['config'], { WORKERS: 'x' })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'The configuration is wrong:\nWORKERS is "x" and must be a number of processes, 1 to 999, or auto\n',
  });
});

describe('standard output', () => {
  const withFull = (...words: string[]) => runCommandOnFullDisk(words, { DATABASE_URL: database.url });
  /** Runs a command and closes its standard output after the first bytes. */
  const head = async (...words: string[]) => {
    const command = spawnCommand(words, { DATABASE_URL: database.url });
    const [exit, stderr] = await Promise.all([
      once(command, 'exit'),
      text(command.stderr as Readable),
      once(command.stdout as Readable, 'readable').then(() => command.stdout?.destroy()),
    ]);
    return { code: exit[0], stderr };
  };
  const insertMany = () =>
    database.query(`INSERT INTO tokens (name, hash, scopes)
      SELECT 'many-' || n, sha256(n::text::bytea), ARRAY['plants:read'] FROM generate_series(1, 5000) AS n`);
  afterEach(() => database.query("DELETE FROM tokens WHERE name LIKE 'many-%'"));

  test.each([['--json'], []])('gets the whole of a long list, even if it is read late: %j', async (...options) => {
    await insertMany();
    const command = spawnCommand(['token', 'list', ...options], { DATABASE_URL: database.url });
    const stdout = command.stdout as Readable;
    const exit = once(command, 'exit');
    await once(stdout, 'readable');
    // Time to fill the pipe; the result does not depend on it.
    await setTimeout(100);
    const [output, [code]] = await Promise.all([text(stdout), exit]);
    expect(code).toBe(0);
    expect(output.length).toBeGreaterThan(300_000);
    expect(output.match(/many-\d+/g)).toHaveLength(5000);
    expect(output.endsWith('\n')).toBe(true);
  });

  test('if it is closed, the token is deleted, with an error message', async () => {
    const command = spawnCommand(['token', 'create', '--name', 'unread'], { DATABASE_URL: database.url });
    command.stdout?.destroy();
    const [stderr, [code]] = await Promise.all([text(command.stderr as Readable), once(command, 'exit')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The token could not be printed and was deleted: .*EPIPE.*\n$/);
    expect(await database.query("SELECT name FROM tokens WHERE name = 'unread'")).toEqual([]);
  });

  test.each([[['token', 'list', '--json']], [['openapi']], [['migrate']], [['--version']], [['--help']]])(
    'if it is full, the command fails with a one-line message: %j',
    async (words) => {
      const { code, stderr } = await withFull(...words);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The output could not be written: .*ENOSPC.*\n$/);
    },
  );

  test.each([[['openapi']], [['token', 'list', '--json']]])('may be closed early: %j | head -1', async (words) => {
    await insertMany();
    const { code, stderr } = await head(...words);
    expect([code, stderr]).toEqual([0, '']);
  });
});

describe('exit codes', () => {
  test.each([
    [[]],
    [['wrong']],
    [['token']],
    [['token', 'create']],
    [['token', 'create', '--name', 'a b']],
    [['token', 'create', '--name', '--scope']],
    [['token', 'create', '--name=-x']],
    [['token', 'create', '--name', 'x', '--expires', '--if-none']],
    [['studio', '--port', '--browser']],
    [['studio', '--port', '0']],
    [['studio', '--port', '65536']],
    [['studio', '--browser', '--port']],
    [['token', 'create', '--name', 'x', '--expires', 'soon']],
    [['token', 'create', '--name', 'x', '--scope', 'all']],
    [['serve', '--port', '1']],
    [['token', 'revoke']],
  ])('2 for a usage error: %j', async (words) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/Usage:|--help/);
  });

  test.each([
    [['--help']],
    [['serve', '--help']],
    [['migrate', '--help']],
    [['studio', '--help']],
    [['token', '--help']],
    [['token', 'create', '--help']],
    [['token', 'list', '--help']],
    [['token', 'revoke', '--help']],
  ])('0 for %j', async (words) => {
    const { code, stdout } = await run(...words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: plant-store/);
  });

  test('1 without a database, with a one-line message', async () => {
    const { code, stderr } = await runCommand(['token', 'list'], { DATABASE_URL: 'postgresql://x:y@127.0.0.1:1/x' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database is not available: .*127\.0\.0\.1:1.*\n$/);
  });
});

test('the compile cache of Node.js is in the checkout', async () => {
  const { code, stderr } = await runCommand(['--help'], { NODE_COMPILE_CACHE: '', NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
  const folder = join(projectFolder, 'node_modules', '.cache', 'compile');
  expect(code).toBe(0);
  expect(stderr).toContain(`[compile cache] resolved path ${folder} `);
});
