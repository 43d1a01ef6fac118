import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { lockTable, waitForBlocked } from '../support/lock-table.ts';
import { spawnWithInput } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
const folder = useDataFolder();
beforeEach(() => database.query('TRUNCATE plants'));

const path = (name: string) => join(folder.path, name);
const start = (words: string[]) => spawnWithInput(words, { DATABASE_URL: database.url });
const count = async () => Number((await database.query('SELECT count(*) AS count FROM plants'))[0]?.count);
const ndjson = (ids: number[]) => ids.map((id) => `{"id":${id},"name":"Fir"}\n`).join('');

test.each([[['--on-conflict', 'replace']], [['--atomic']]])(
  'prints the summary of earlier files if the database is lost before a later one: %j',
  async (options) => {
    writeFileSync(path('a.ndjson'), ndjson([1, 2, 3]));
    writeFileSync(path('c.ndjson'), ndjson([5]));
    const command = start(['import', path('a.ndjson'), '-', path('c.ndjson'), ...options, '--json']);
    if (!command.stdin || !command.stdout || !command.stderr) throw new Error('no pipes');
    const output = Promise.all([text(command.stdout), text(command.stderr)]);
    const exited = once(command, 'exit');
    await waitUntil('the first file', async () => (await count()) === 3);
    await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`);
    await database.administer(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${database.name}'`,
    );
    try {
      command.stdin.end(ndjson([4]));
      const [code] = await exited;
      const [printed, said] = await output;
      expect(JSON.parse(printed)).toMatchObject({ created: 3, failed: 0, stopped: { file: '-' } });
      expect([code, said]).toEqual([
        1,
        expect.stringMatching(
          /^-: The database is not available: .* not currently accepting .* Check DATABASE_URL: .* Nothing is stored\. Repeat the import\. Files after it, not read: 1\.$/m,
        ),
      ]);
    } finally {
      await database.administer(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`);
    }
    expect(await count()).toBe(3);
  },
);

test('stores nothing on SIGINT, and says so, while it reads as well as while it stores', async () => {
  for (const isStoring of [false, true]) {
    const unlock = isStoring ? await lockTable(database.url, 'plants', 'SHARE') : async () => {};
    const command = start(['import', '-', '--json']);
    if (!command.stdin || !command.stdout || !command.stderr) throw new Error('no pipes');
    const output = Promise.all([text(command.stdout), text(command.stderr)]);
    const exited = once(command, 'exit');
    command.stdin.on('error', () => {});
    command.stdin.write(ndjson(Array.from({ length: 5001 }, (_, index) => index + 1)));
    const waiting = "SELECT FROM pg_stat_activity WHERE query LIKE 'COPY%' AND datname = current_database()";
    await waitUntil('rows', async () => (await database.query(waiting)).length > 0);
    if (isStoring) {
      command.stdin.end();
      await waitForBlocked(database, 'INSERT');
    }
    command.kill('SIGINT');
    const [code] = await exited;
    await unlock();
    const [printed, said] = await output;
    expect([code, said]).toEqual([
      1,
      expect.stringContaining('-: Interrupted. Nothing is stored. Repeat the import.\n'),
    ]);
    expect(JSON.parse(printed)).toMatchObject({ created: 0, stopped: { file: '-' } });
    expect(await count()).toBe(0);
  }
  expect(existsSync(path('-'))).toBe(false);
});

const WRONG = 'neither id nor name\n'.repeat(100);

describe('a command that waits for the other side of a named pipe ends', () => {
  const pipe = (name = 'pipe.csv') => {
    spawnSync('mkfifo', [path(name)]);
    return path(name);
  };

  test.each([
    ['its signal', 'pipe.csv', '', 'SIGTERM'],
    ['an error of what it has read', 'pipe.csv', WRONG, undefined],
    ['an error of what it has decompressed', 'pipe.csv.gz', gzipSync(WRONG).subarray(0, -1), undefined],
  ] as const)('with %s: an import whose writer is silent', async (_what, name, written, signal) => {
    const file = pipe(name);
    const command = start(['import', file]);
    const exited = once(command, 'exit');
    let writer: number | undefined;
    await waitUntil('a reader', () => {
      try {
        writer = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
      } catch {
        // The command has not opened its side yet.
      }
      return writer !== undefined;
    });
    writeSync(writer as number, Buffer.from(written));
    if (signal) command.kill(signal);
    expect(await exited).toEqual([1, null]);
    closeSync(writer as number);
  });

  test('with its signal: an export without a reader', async () => {
    await database.query("INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 1000) AS id");
    const command = start(['export', pipe()]);
    const exited = once(command, 'exit');
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'ClientWrite' AND datname = current_database()";
    await waitUntil('an export', async () => (await database.query(waiting)).length > 0);
    command.kill('SIGTERM');
    const [[code], said] = await Promise.all([exited, text(command.stderr as Readable)]);
    expect([code, said]).toEqual([1, expect.stringContaining('The export was interrupted')]);
  });
});

test('ends if the database is lost, although its input goes on', async () => {
  const command = start(['import', '-']);
  const output = text(command.stderr as Readable);
  const exited = once(command, 'exit');
  command.stdin?.on('error', () => {});
  command.stdin?.write(ndjson(Array.from({ length: 5001 }, (_, index) => index + 1)));
  const waiting = "FROM pg_stat_activity WHERE query LIKE 'COPY%' AND datname = current_database()";
  await waitUntil('rows', async () => (await database.query(`SELECT ${waiting}`)).length > 0);
  await database.query(`SELECT pg_terminate_backend(pid) ${waiting} AND pid <> pg_backend_pid()`);
  expect(await exited).toEqual([1, null]);
  expect(await output).toContain('Nothing is stored. Repeat the import.');
});

test('goes on after a hangup, as with nohup, because its input is no terminal', async () => {
  const command = start(['import', '-']);
  const exited = once(command, 'exit');
  const ids = Array.from({ length: 5000 }, (_, index) => index + 1);
  command.stdin?.write(ndjson([...ids, 5002]));
  const waiting = "SELECT FROM pg_stat_activity WHERE query LIKE 'COPY%' AND datname = current_database()";
  await waitUntil('rows', async () => (await database.query(waiting)).length > 0);
  command.kill('SIGHUP');
  command.stdin?.end(ndjson([5001]));
  expect(await exited).toEqual([0, null]);
  expect(await count()).toBe(5002);
});
