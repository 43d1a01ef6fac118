import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { generateTokenText } from '../../src/tokens/token.ts';
import { killChildren } from '../support/children.ts';
import { runCommand, type StoreProcess, spawnCommand, startStore } from '../support/store-process.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const folder = useDataFolder();

const start = () => startStore({ DATA_DIR: folder.path });

/** Whether a process exists. */
const exists = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const post = async (store: StoreProcess, id: number | string) => {
  const response = await fetch(`${store.url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json' },
    body: `{"id":${id},"name":"Fir"}`,
  });
  await response.text();
  return response.status;
};

const query = async (url: string, sql: string) => {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
};

const postmasterPid = () => Number.parseInt(readFileSync(join(folder.path, 'postgres/postmaster.pid'), 'utf8'), 10);

/** The ids in the database of the folder. */
const storedIds = async () => {
  const { url, release } = await leaseEmbeddedPostgres(folder.path);
  const { rows } = await query(url, 'SELECT id FROM plants');
  await release();
  return new Set(rows.map(({ id }) => id));
};

/** Posts plants from 16 clients until `end` is called. `answered` are the ids that got 200. */
const putUnderLoad = (store: StoreProcess) => {
  const answered: string[] = [];
  const otherAnswers: number[] = [];
  let nextId = 1;
  let stopping = false;
  const clients = Array.from({ length: 16 }, async () => {
    while (!stopping) {
      const id = nextId++;
      const status = await post(store, id).catch(() => undefined);
      if (status === 200) answered.push(String(id));
      else if (status !== undefined) otherAnswers.push(status);
      else return; // The connection was refused: the store has stopped.
    }
  });
  return {
    answered,
    otherAnswers,
    /** Waits for more than `count` responses with 200. */
    answers: (count: number) => waitUntil(`${count} answers`, () => answered.length > count),
    end: async () => {
      stopping = true;
      await Promise.all(clients);
    },
  };
};

describe('npm start', () => {
  test('keeps its data and its token across restarts', async () => {
    const first = await start();
    expect(await post(first, '9223372036854775807')).toBe(200);
    await first.stop();
    const second = await start();
    expect(second.token).toBe(first.token);
    expect(await post(second, '9223372036854775807')).toBe(400);
    const tokens = await runCommand(['token', 'list', '--json'], { DATA_DIR: folder.path });
    expect(JSON.parse(tokens.stdout)).toHaveLength(1);
    expect(statSync(join(folder.path, 'access-token')).mode & 0o777).toBe(0o600);
    await second.stop();
  });

  test('does not print a revoked token', async () => {
    const first = await start();
    const { name } = JSON.parse((await runCommand(['token', 'list', '--json'], { DATA_DIR: folder.path })).stdout)[0];
    expect((await runCommand(['token', 'revoke', name], { DATA_DIR: folder.path })).code).toBe(0);
    await first.stop();
    const second = await startStore({ DATA_DIR: folder.path, LOG_FORMAT: 'json' });
    expect(second.token).toBe('');
    await second.stop();
    expect(second.output.text).toContain('was revoked or has expired');
  });

  test('a second store shares the data, the token and the database, which runs until both have stopped', async () => {
    const first = await start();
    const second = await start();
    expect(second.token).toBe(first.token);
    expect([await post(first, 1), await post(second, 1)]).toEqual([200, 400]);
    await first.stop();
    expect(await post(second, 2)).toBe(200);
    await second.stop();
    expect(() => statSync(join(folder.path, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
  });

  test('on a port in use says so, and leaves nothing running', async () => {
    const store = await start();
    const other = makeDataFolder();
    const second = await runCommand(['serve'], { DATA_DIR: other, PORT: new URL(store.url).port });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/EADDRINUSE.*Set PORT/);
    expect(() => statSync(join(other, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
    rmSync(other, { recursive: true });
    await store.stop();
  });

  test('on a metrics port in use says so, and leaves nothing running', async () => {
    const store = await start();
    const other = makeDataFolder();
    const METRICS_PORT = new URL(store.url).port;
    for (const WORKERS of ['1', '2']) {
      const second = await runCommand(['serve'], { DATA_DIR: other, PORT: '0', METRICS_PORT, WORKERS });
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(/EADDRINUSE.*Set METRICS_PORT or METRICS_HOST/);
    }
    expect(() => statSync(join(other, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
    rmSync(other, { recursive: true });
    await store.stop();
  });

  test('with an invalid configuration exits with 1 and prints a line for each variable', async () => {
    const { code, stderr } = await runCommand(['serve'], { PORT: 'x', LOG_LEVEL: 'loud', NODE_ENV: 'production' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/PORT is "x" and must be .*\nLOG_LEVEL is "loud" and must be .*\nDATABASE_URL is not set/);
  });
});

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s under load', (signal) => {
  test('finishes the requests in progress, loses none, and exits with 0', async () => {
    const store = await start();
    const load = putUnderLoad(store);
    await load.answers(100);
    const signalledAt = performance.now();
    const exit = await store.stop(signal);
    expect(performance.now() - signalledAt).toBeLessThan(10_000);
    await load.end();
    expect(exit).toEqual({ code: 0, signal: null });
    expect(load.otherAnswers).toEqual([]);
    const stored = await storedIds();
    expect(load.answered.filter((id) => !stored.has(id))).toEqual([]);
    // Buffered log lines are written before the exit: one per response.
    expect(store.output.text.match(/"path":"\/plants","status":200/g)?.length).toBe(load.answered.length);
  });
});

test('a slow stop of PostgreSQL does not count against SHUTDOWN_TIMEOUT', async () => {
  const store = await startStore({ DATA_DIR: folder.path, SHUTDOWN_TIMEOUT: '1' });
  const { url, release } = await leaseEmbeddedPostgres(folder.path);
  const { rows } = await query(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
  await release();
  const { pid: checkpointer } = rows[0];
  process.kill(checkpointer, 'SIGSTOP');
  const exit = store.stop();
  try {
    await waitUntil('"stopped" in the log', () => store.output.text.includes('"stopped"'));
    // Longer than SHUTDOWN_TIMEOUT. No event marks a timer that does not fire.
    await Promise.race([exit, setTimeout(1500)]);
    expect(exists(store.pid)).toBe(true);
  } finally {
    process.kill(checkpointer, 'SIGCONT');
  }
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(() => statSync(join(folder.path, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
});

test.each(['refuses connections', 'never answers'])(
  'in production the store starts even if the database %s',
  async (what) => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const databasePort = what === 'never answers' ? (silent.address() as AddressInfo).port : 1;
    const DATABASE_URL = `postgresql://x:y@127.0.0.1:${databasePort}/x`;
    const store = spawnCommand(['serve'], { NODE_ENV: 'production', PORT: '0', DATABASE_URL });
    const exit = once(store, 'exit');
    let output = '';
    store.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    await waitUntil('the store to listen', () => /"port":\d+.*"listening"/.test(output) || store.exitCode !== null);
    const port = /"port":(\d+).*"listening"/.exec(output)?.[1];
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    store.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    silent.close();
  },
);

describe('on the database at DATABASE_URL', () => {
  const database = useTestDatabase({ each: true });

  test('a crash exits with 1, and its reason is in the log', async () => {
    const crash = "process.on('SIGUSR2', () => { throw new Error('a crash on purpose') })";
    const store = await startStore({
      DATA_DIR: folder.path,
      DATABASE_URL: database.url,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}`,
    });
    expect(await store.stop('SIGUSR2')).toEqual({ code: 1, signal: null });
    expect(store.output.text).toMatch(/"level":"fatal".*a crash on purpose/);
  });

  test('a token file that cannot be written ends the start with a one-line message and leaves no token', async () => {
    // Not with permissions, which do not apply to root.
    writeFileSync(join(folder.path, 'data'), '');
    const settings = { PORT: '0', DATABASE_URL: database.url, DATA_DIR: join(folder.path, 'data', 'folder') };
    for (let starts = 0; starts < 2; starts++) {
      const { code, stderr } = await runCommand(['serve'], settings);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^ENOTDIR.+ DATA_DIR must be a folder that this user can write to\.\n$/);
    }
    expect(await database.query('SELECT name FROM tokens')).toEqual([]);
  });

  test('a token file with an unknown token is replaced', async () => {
    const unknown = generateTokenText();
    writeFileSync(join(folder.path, 'access-token'), `${unknown}\n`);
    const store = await startStore({ DATA_DIR: folder.path, DATABASE_URL: database.url });
    expect(store.token).not.toBe(unknown);
    expect(readFileSync(join(folder.path, 'access-token'), 'utf8')).toBe(`${store.token}\n`);
    expect(await post(store, 1)).toBe(200);
    await store.stop();
  });
});

test('Ctrl-C, which signals both npm and the store, still finishes the requests in progress', async () => {
  const store = await start();
  const load = putUnderLoad(store);
  await load.answers(100);
  for (const _ of [1, 2]) process.kill(store.pid, 'SIGINT');
  expect(await store.exited).toEqual({ code: 0, signal: null });
  await load.end();
  expect(load.otherAnswers).toEqual([]);
});

test('Ctrl-C again while PostgreSQL takes long to stop does not end that stop', async () => {
  const store = await start();
  const group = Number(store.process.pid);
  process.kill(postmasterPid(), 'SIGSTOP');
  process.kill(-group, 'SIGINT');
  await waitUntil('the stop', () => spawnSync('pgrep', ['-g', String(group), 'pg_ctl']).status === 0);
  process.kill(-group, 'SIGINT');
  process.kill(postmasterPid(), 'SIGCONT');
  expect(await store.exited).toEqual({ code: 0, signal: null });
  expect(store.output.text).not.toContain('failed');
});

test('SIGTERM to npm, as from a supervisor, reaches the store', async () => {
  const store = await start();
  store.process.kill('SIGTERM');
  expect(await store.exited).toEqual({ code: 0, signal: null });
  expect(store.output.text).toContain('"stopped"');
  expect(() => process.kill(store.pid, 0)).toThrow('ESRCH');
});

test('kill -9 loses no stored plant, and the next start takes over the database', async () => {
  const first = await start();
  const load = putUnderLoad(first);
  await load.answers(100);
  const before = postmasterPid();
  await first.stop('SIGKILL');
  await load.end();
  const second = await start();
  expect(postmasterPid()).toBe(before);
  expect(second.token).toBe(first.token);
  expect(await post(second, 'x')).toBe(400);
  await second.stop();
  const stored = await storedIds();
  expect(load.answered.filter((id) => !stored.has(id))).toEqual([]);
});

test('killChildren also kills a store that npm started', async () => {
  const store = await start();
  killChildren();
  expect(await store.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await waitUntil('the store to end', () => !exists(store.pid));
});
