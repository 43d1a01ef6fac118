import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createCluster, isPostgres } from '../../src/embedded-postgres/cluster.ts';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { smallDiskObstacle } from '../faults/small-disk.ts';
import { spawnChild } from '../support/children.ts';
import { describeUnless, testUnless } from '../support/skip.ts';
import { projectFolder, runCommand, type StoreProcess, startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const folder = useDataFolder();

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

const postmasterPid = () =>
  Number(readFileSync(join(folder.path, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

/** Runs a script next to a program named `postgres`, which sleeps. @returns the process id that it prints, once that process is in a state (proc(5)) */
const startNamedPostgres = async (script: string, state: RegExp) => {
  const other = join(folder.path, 'other');
  mkdirSync(other);
  copyFileSync('/bin/sleep', join(other, 'postgres'));
  const shell = spawnChild('sh', ['-c', script], { cwd: other, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const [chunk] = await once(shell.stdout as Readable, 'data');
  const pid = Number(chunk);
  const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8');
  await waitUntil('the state of the process', () => new RegExp(`\\(postgres\\) ${state.source}`).test(stat()));
  return pid;
};

const noPs = spawnSync('ps').error && 'ps is missing';
testUnless(noPs, 'on macOS, a process that got the id of a server that crashed is not that server', async () => {
  expect([isPostgres(String(process.pid)), isPostgres('999999999')]).toEqual([false, false]);
  const pid = await startNamedPostgres('./postgres 60 & echo $!; exec sleep 60', /S/);
  try {
    expect(isPostgres(String(pid))).toBe(true);
  } finally {
    process.kill(pid);
  }
});

test('the store finds its own PostgreSQL durable', async () => {
  const store = await startStore({ DATA_DIR: folder.path });
  expect((await fetch(`${store.url}/readyz`)).status).toBe(200);
  await store.stop();
  expect(store.output.text).not.toContain('can lose confirmed plants');
});

test('the store and its commands ignore what the shell sets for other PostgreSQLs', async () => {
  const others = {
    PGSSLMODE: 'require',
    PGOPTIONS: '-c search_path=nothing',
    PGHOST: '/nothing',
    PGDATABASE: 'nothing',
    PGSSLNEGOTIATION: 'direct',
    PGPORT: '5432,5433',
    PGCLIENTENCODING: 'auto',
    PGDATESTYLE: 'nothing',
  };
  const store = await startStore({ DATA_DIR: folder.path, ...others });
  expect((await fetch(`${store.url}/readyz`)).status).toBe(200);
  expect(await runCommand(['token', 'list'], { DATA_DIR: folder.path, ...others })).toMatchObject({ code: 0 });
  await store.stop();
});

test('a copy of the folder takes the store back to where it was', async () => {
  const data = join(folder.path, 'data');
  const before = join(folder.path, 'before');
  const start = () => startStore({ DATA_DIR: data });
  const send = async ({ url, token }: StoreProcess, path: string, body?: string) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    return (await fetch(`${url}${path}`, { method: body ? 'POST' : 'GET', headers, ...(body && { body }) })).status;
  };
  const first = await start();
  expect(await send(first, '/plants', '{"id":1,"name":"Fir"}')).toBe(200);
  await first.stop();
  execFileSync('cp', ['-a', data, before]);
  const second = await start();
  expect(await send(second, '/plants', '{"id":2,"name":"Fir"}')).toBe(200);
  await second.stop();
  rmSync(data, { recursive: true });
  renameSync(before, data);
  const third = await start();
  expect([await send(third, '/plants/1'), await send(third, '/plants/2'), third.token]).toEqual([
    200,
    404,
    first.token,
  ]);
  await third.stop();
});

testUnless(smallDiskObstacle(), 'a folder that has become read-only: a sentence', async () => {
  const list = () => runCommand(['token', 'list'], { DATA_DIR: folder.path });
  expect((await list()).code).toBe(0);
  execFileSync('mount', ['--bind', folder.path, folder.path]);
  try {
    execFileSync('mount', ['-o', 'remount,bind,ro', folder.path]);
    const { code, stderr } = await list();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^EROFS: read-only file system.* DATA_DIR must be a folder that this user can write to\.\n$/,
      ),
    ]);
  } finally {
    execFileSync('umount', ['--lazy', folder.path]);
  }
});

describe('leaseEmbeddedPostgres', () => {
  test('runs PostgreSQL 18, durable, and only on the loopback address', async () => {
    const { url, release } = await leaseEmbeddedPostgres(folder.path);
    const setting = async (name: string) => Object.values((await query(url, `SHOW ${name}`))[0] ?? {})[0];
    expect(await setting('server_version')).toMatch(/^18\./);
    expect(await setting('listen_addresses')).toBe('127.0.0.1');
    expect(await setting('fsync')).toBe('on');
    expect(await setting('synchronous_commit')).toBe('on');
    expect(await setting('max_connections')).toBe('300');
    // Otherwise a log of a weekday would go on in the next week.
    expect(await setting('log_truncate_on_rotation')).toBe('on');
    const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
    const cache = Math.max(128, Math.min(512, Math.floor(memory / 8 / 2 ** 20)));
    expect(await setting('shared_buffers')).toBe(`${cache}MB`);
    await expect(query(url.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow('authentication failed');
    await release();
    expect(postmasterPid).toThrow('ENOENT');
  });

  test('takes the file of the password away from others, who may read it in a copied folder', async () => {
    const file = join(folder.path, 'postgres-password');
    const mode = () => (statSync(file).mode & 0o777).toString(8);
    writeFileSync(file, 'an old one', { mode: 0o644 });
    await (await leaseEmbeddedPostgres(folder.path)).release();
    expect(mode()).toBe('600');
    chmodSync(file, 0o644);
    const { url, release } = await leaseEmbeddedPostgres(folder.path);
    expect([mode(), (await query(url, 'SELECT 1 AS one'))[0]]).toEqual(['600', { one: 1 }]);
    await release();
  });

  test('works in a path with spaces, quotes and shell syntax', async () => {
    const { url, release } = await leaseEmbeddedPostgres(
      join(folder.path, `it's a "folder" with $HOME, \`id\` and ünïcode`),
    );
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await release();
  });

  test.each(['$HOME', 'a`b', 'a"b', 'a\\\\b'])('says that its programs cannot run in a folder %s', (name) => {
    const program = (file: string) => `/home/${name}/bin/${file}`;
    const binaries = { initdb: program('initdb'), pg_ctl: program('pg_ctl'), postgres: program('postgres') };
    const create = () => createCluster({ dataDir: folder.path, binaries, account: undefined, walLevel: '' });
    expect(create).toThrow(`cannot run in /home/${name}/bin`);
  });

  test('is shared: the first lease starts it, and the last release stops it', async () => {
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => leaseEmbeddedPostgres(folder.path)));
    expect(new Set([a?.url, b?.url, c?.url]).size).toBe(1);
    await a?.release();
    await b?.release();
    expect(await query(c?.url ?? '', 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await c?.release();
    expect(postmasterPid).toThrow('ENOENT');
  });

  test('starts again after PostgreSQL was killed', async () => {
    const { url, release } = await leaseEmbeddedPostgres(folder.path);
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(postmasterPid(), 'SIGKILL');
    await release().catch(() => {});
    const again = await leaseEmbeddedPostgres(folder.path);
    expect(await query(again.url, 'SELECT * FROM kept')).toEqual([{ one: 1 }]);
    await again.release();
  });

  test.each([
    ['another program', async () => process.pid],
    ["somebody else's PostgreSQL", () => startNamedPostgres('./postgres 1000 & echo $!; wait', /[RS]/)],
    // Its working directory is the data directory, as the server's is. It ends when its parent is sleep, which never waits for it.
    ['a zombie', () => startNamedPostgres('cd ../postgres; ../other/postgres 0.5 & echo $!; exec sleep 1000', /Z/)],
  ])('starts even if postmaster.pid now names %s', async (_title, startProcess) => {
    await (await leaseEmbeddedPostgres(folder.path)).release();
    const pid = await startProcess();
    writeFileSync(join(folder.path, 'postgres', 'postmaster.pid'), `${pid}\n${folder.path}\n0\n1\n\n\n\nready\n`);
    const { url, release } = await leaseEmbeddedPostgres(folder.path);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await release();
  });

  test('if it cannot start, the message includes that of PostgreSQL', async () => {
    await (await leaseEmbeddedPostgres(folder.path)).release();
    writeFileSync(join(folder.path, 'postgres', 'postgresql.conf'), 'nonsense = 1\n');
    const { code, stderr } = await runCommand(['migrate'], { DATA_DIR: folder.path });
    expect(code).toBe(1);
    expect(stderr).toMatch(/PostgreSQL's pg_ctl failed.*unrecognized configuration parameter "nonsense"/s);
    expect(stderr).toContain(`See also ${join(folder.path, 'postgres', 'log')}.\n`);
  });

  test('if a slot keeps it from starting, the message names the setting', async () => {
    const { url, release } = await leaseEmbeddedPostgres(folder.path, 'logical');
    await query(url, "SELECT pg_create_logical_replication_slot('mirror', 'pgoutput')");
    await release();
    const { code, stderr } = await runCommand(['token', 'list'], { DATA_DIR: folder.path });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/ It has slots, which need EMBEDDED_WAL_LEVEL=logical\.\n$/),
    ]);
    expect(await runCommand(['token', 'list'], { DATA_DIR: folder.path, EMBEDDED_WAL_LEVEL: 'logical' })).toMatchObject(
      {
        code: 0,
      },
    );
  });
});

/** Runs the command line as another account. */
const runAs = async (account: string, dataDir: string) => {
  const env = { ...process.env, DATA_DIR: dataDir, NODE_ENV: '', DATABASE_URL: '' };
  const words = ['-u', account, '--', process.execPath, join(projectFolder, 'src', 'main.ts'), 'token', 'list'];
  return promisify(execFile)('runuser', words, { env, cwd: '/' }).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }) => ({ code: Number(code), text: String(stderr) }),
  );
};

const obstacle = process.getuid?.() === 0 ? undefined : 'only root can change accounts';

describeUnless(obstacle, 'as root', () => {
  test('a folder that the PostgreSQL account cannot reach: the error names it', async () => {
    const closed = join(folder.path, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const { code, stderr } = await runCommand(['migrate'], { DATA_DIR: join(closed, 'data') });
    expect(code).toBe(1);
    expect(stderr).toContain(`because it has no permission to enter ${closed}`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('a folder that it makes itself can be reached, with any umask', async () => {
    const words = ['-c', `umask 077; exec "$0" ${join(projectFolder, 'src', 'main.ts')} token list`, process.execPath];
    const env = { ...process.env, DATA_DIR: join(folder.path, 'new'), NODE_ENV: '', DATABASE_URL: '' };
    expect((await promisify(execFile)('sh', words, { env })).stdout).toMatch(/^NAME/);
  });

  test('a user id without a name, as docker run --user sets it: a sentence', () => {
    chmodSync(folder.path, 0o777);
    const env = { ...process.env, DATA_DIR: join(folder.path, 'own'), NODE_ENV: '', DATABASE_URL: '' };
    const words = [join(projectFolder, 'src', 'main.ts'), 'token', 'list'];
    const options = { uid: 54_321, gid: 54_321, cwd: '/', env, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync(process.execPath, words, options);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^The user id 54321 has no name in \/etc\/passwd, .*\n$/),
    ]);
  });

  test('other users can run it in their own folder, but not in a folder of root', async () => {
    chmodSync(folder.path, 0o777);
    expect(await runAs('nobody', join(folder.path, 'own'))).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^NAME/),
    });
    mkdirSync(join(folder.path, 'roots'), { mode: 0o755 });
    const refused = await runAs('nobody', join(folder.path, 'roots'));
    expect(refused.code).toBe(1);
    expect(refused.text).toMatch(/another user/);
  });
});
