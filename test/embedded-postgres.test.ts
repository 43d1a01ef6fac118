import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { leaseEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts';
import { killChildren, spawnChild } from './support/children.ts';
import { projectFolder, runCommand } from './support/store-process.ts';
import { makeTemporaryFolder, removeDataFolder } from './support/temporary-folder.ts';
import { waitUntil } from './support/wait-until.ts';

let folder: string;
beforeEach(() => {
  folder = makeTemporaryFolder();
});
afterEach(() => {
  killChildren();
  removeDataFolder(folder);
});

const query = async (url: string, sql: string) => {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
};

const postmasterPid = () => Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

/** Runs a script beside a program `postgres`, which sleeps. @returns the id that it prints, once that is in such a state */
const startNamedPostgres = async (script: string, state: RegExp) => {
  const other = join(folder, 'other');
  mkdirSync(other);
  copyFileSync('/bin/sleep', join(other, 'postgres'));
  const shell = spawnChild('sh', ['-c', script], { cwd: other, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const [chunk] = await once(shell.stdout as Readable, 'data');
  const pid = Number(chunk);
  const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8');
  await waitUntil('the state of the process', () => new RegExp(`\\(postgres\\) ${state.source}`).test(stat()));
  return pid;
};

describe('leaseEmbeddedPostgres', () => {
  test('runs PostgreSQL 18, durable and on the loopback address alone', async () => {
    const { url, release } = await leaseEmbeddedPostgres(folder);
    const setting = async (name: string) => Object.values((await query(url, `SHOW ${name}`))[0] ?? {})[0];
    expect(await setting('server_version')).toMatch(/^18\./);
    expect(await setting('listen_addresses')).toBe('127.0.0.1');
    expect(await setting('fsync')).toBe('on');
    expect(await setting('synchronous_commit')).toBe('on');
    const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
    const cache = Math.max(128, Math.min(512, Math.floor(memory / 8 / 2 ** 20)));
    expect(await setting('shared_buffers')).toBe(`${cache}MB`);
    await expect(query(url.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow('authentication failed');
    await release();
    expect(postmasterPid).toThrow('ENOENT');
  });

  test('works in a path with spaces, quotes and what a shell would expand', async () => {
    const { url, release } = await leaseEmbeddedPostgres(
      join(folder, `it's a "folder" with $HOME, \`id\` and ünïcode`),
    );
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await release();
  });

  test('is shared: the first starts it, the last to leave stops it', async () => {
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => leaseEmbeddedPostgres(folder)));
    expect(new Set([a?.url, b?.url, c?.url]).size).toBe(1);
    await a?.release();
    await b?.release();
    expect(await query(c?.url ?? '', 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await c?.release();
    expect(postmasterPid).toThrow('ENOENT');
  });

  test('starts again after PostgreSQL itself was killed', async () => {
    const { url, release } = await leaseEmbeddedPostgres(folder);
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(postmasterPid(), 'SIGKILL');
    await release().catch(() => {});
    const again = await leaseEmbeddedPostgres(folder);
    expect(await query(again.url, 'SELECT * FROM kept')).toEqual([{ one: 1 }]);
    await again.release();
  });

  test.each([
    ['another program', async () => process.pid],
    ["somebody else's PostgreSQL", () => startNamedPostgres('./postgres 1000 & echo $!; wait', /[RS]/)],
    // In the data directory, which does not tell it from the server. Its parent, sleep, never waits for it.
    ['a zombie', () => startNamedPostgres('cd ../postgres; ../other/postgres 0 & echo $!; exec sleep 1000', /Z/)],
  ])('starts although postmaster.pid names %s by now', async (_title, startProcess) => {
    await (await leaseEmbeddedPostgres(folder)).release();
    const pid = await startProcess();
    writeFileSync(join(folder, 'postgres', 'postmaster.pid'), `${pid}\n${folder}\n0\n1\n\n\n\nready\n`);
    const { url, release } = await leaseEmbeddedPostgres(folder);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await release();
  });

  test('makes a new data directory where making the first was cut off', async () => {
    mkdirSync(join(folder, 'postgres.new'));
    writeFileSync(join(folder, 'postgres.new', 'PG_VERSION'), '18\n');
    await (await leaseEmbeddedPostgres(folder)).release();
  });

  test('says why it cannot start, and what PostgreSQL says', async () => {
    await (await leaseEmbeddedPostgres(folder)).release();
    writeFileSync(join(folder, 'postgres', 'postgresql.conf'), 'nonsense = 1\n');
    const { code, stderr } = await runCommand(['migrate'], { DATA_DIR: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/PostgreSQL's pg_ctl failed.*unrecognized configuration parameter "nonsense"/s);
  });
});

/** Runs the command line as an account that is not root's. */
const runAs = async (account: string, dataDir: string) => {
  const env = { ...process.env, DATA_DIR: dataDir, NODE_ENV: '', DATABASE_URL: '' };
  const words = ['-u', account, '--', process.execPath, join(projectFolder, 'src', 'main.ts'), 'token', 'list'];
  return promisify(execFile)('runuser', words, { env, cwd: '/' }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }) => ({ code: Number(code), text: String(stderr) }),
  );
};

if (process.getuid?.() === 0) describe('as root', describeAccounts);
else {
  test('accounts are not tried, as only root can change them', () => {
    process.stderr.write('\nThe accounts of the embedded PostgreSQL are NOT tested: only root can change them.\n');
  });
}

function describeAccounts() {
  test('a folder that the account of PostgreSQL cannot reach is an error that names it', async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const { code, stderr } = await runCommand(['migrate'], { DATA_DIR: join(closed, 'data') });
    expect(code).toBe(1);
    expect(stderr).toContain(`because ${closed} is closed to it`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("a user who is not root runs it in a folder of one's own, and cannot in another's", async () => {
    chmodSync(folder, 0o777);
    expect(await runAs('nobody', join(folder, 'own'))).toMatchObject({ code: 0, text: expect.stringMatching(/^NAME/) });
    mkdirSync(join(folder, 'roots'), { mode: 0o755 });
    const refused = await runAs('nobody', join(folder, 'roots'));
    expect(refused.code).toBe(1);
    expect(refused.text).toMatch(/another user/);
  });
}
