import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { leaseEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts';
import { generateTokenText } from '../src/tokens/token.ts';
import { killChildren } from './support/children.ts';
import { runCommand, spawnCommand, startStore } from './support/store-process.ts';
import { makeTemporaryFolder, removeDataFolder } from './support/temporary-folder.ts';
import { createTestDatabase } from './support/test-database.ts';
import { waitUntil } from './support/wait-until.ts';

let folder: string;
beforeEach(() => {
  folder = makeTemporaryFolder();
});
afterEach(() => {
  killChildren();
  removeDataFolder(folder);
});

type Store = Awaited<ReturnType<typeof startStore>>;

const start = () => startStore({ DATA_DIR: folder });

const stop = async (store: Store, signal: NodeJS.Signals = 'SIGTERM') => {
  process.kill(store.pid, signal);
  return store.exited;
};

/** Whether a process of this id is there. */
const isThere = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const post = async (store: Store, id: number | string) => {
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

/** The ids that the database in the folder holds. */
const storedIds = async () => {
  const { url, release } = await leaseEmbeddedPostgres(folder);
  const { rows } = await query(url, 'SELECT id FROM plants');
  await release();
  return new Set(rows.map(({ id }) => id));
};

/** Posts plants from 16 clients until told to stop. @returns the ids that were answered with 200 */
const putUnderLoad = (store: Store) => {
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
      else return; // The connection was refused: the store is gone.
    }
  });
  return {
    answered,
    otherAnswers,
    /** Waits until so many were answered with 200, and more. */
    answers: (count: number) => waitUntil(`${count} answers`, () => answered.length > count),
    end: async () => {
      stopping = true;
      await Promise.all(clients);
    },
  };
};

describe('npm start', () => {
  test('says where it listens, and its curl line stores a plant as it stands', async () => {
    const store = await start();
    expect(store.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(store.token).toMatch(/^plant_[\w-]{43}$/);
    const { stdout } = await promisify(execFile)('sh', ['-c', store.curl]);
    expect(stdout).toBe('{"name":"Fir","tag":"Abies"}');
    expect(await stop(store)).toEqual({ code: 0, signal: null });
    expect(store.output.text).toMatch(/"path":"\/plants","status":200.*\n.*"stopping".*\n.*"stopped"/);
  });

  test('keeps its data and its token from one start to the next', async () => {
    const first = await start();
    expect(await post(first, '9223372036854775807')).toBe(200);
    await stop(first);
    const second = await start();
    expect(second.token).toBe(first.token);
    expect(await post(second, '9223372036854775807')).toBe(400);
    const tokens = await runCommand(['token', 'list', '--json'], { DATA_DIR: folder });
    expect(JSON.parse(tokens.stdout)).toHaveLength(1);
    expect(statSync(join(folder, 'access-token')).mode & 0o777).toBe(0o600);
    await stop(second);
  });

  test('does not give the token back that was revoked', async () => {
    const first = await start();
    const { name } = JSON.parse((await runCommand(['token', 'list', '--json'], { DATA_DIR: folder })).stdout)[0];
    expect((await runCommand(['token', 'revoke', name], { DATA_DIR: folder })).code).toBe(0);
    await stop(first);
    const second = await startStore({ DATA_DIR: folder, LOG_FORMAT: 'json' });
    expect(second.token).toBe('');
    await stop(second);
    expect(second.output.text).toContain('was revoked or has expired');
  });

  test('a second time at once says that the first runs, and where', async () => {
    const store = await start();
    const second = await runCommand(['serve'], { DATA_DIR: folder, PORT: '0' });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`The store already runs on ${store.url} (process ${store.pid})`);
    expect(await post(store, 1)).toBe(200);
    await stop(store);
  });

  test('on a taken port says so, and leaves nothing running', async () => {
    const store = await start();
    const other = makeTemporaryFolder();
    const second = await runCommand(['serve'], { DATA_DIR: other, PORT: new URL(store.url).port });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/EADDRINUSE.*Set PORT/);
    expect(() => statSync(join(other, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
    rmSync(other, { recursive: true });
    await stop(store);
  });

  test('on a taken port for its metrics says so, and leaves nothing running', async () => {
    const store = await start();
    const other = makeTemporaryFolder();
    const METRICS_PORT = new URL(store.url).port;
    for (const WORKERS of ['1', '2']) {
      const second = await runCommand(['serve'], { DATA_DIR: other, PORT: '0', METRICS_PORT, WORKERS });
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(/EADDRINUSE.*Set METRICS_PORT or METRICS_HOST/);
    }
    expect(() => statSync(join(other, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
    rmSync(other, { recursive: true });
    await stop(store);
  });

  test('with a wrong configuration ends with 1 and a line for each variable', async () => {
    const { code, stderr } = await runCommand(['serve'], { PORT: 'x', LOG_LEVEL: 'loud', NODE_ENV: 'production' });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /PORT is "x" and should be .*\nLOG_LEVEL is "loud" and should be .*\nDATABASE_URL is not set/,
    );
  });
});

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s under load', (signal) => {
  test('answers the requests under way, loses none, and exits with 0', async () => {
    const store = await start();
    const load = putUnderLoad(store);
    await load.answers(100);
    const signalledAt = performance.now();
    const exit = await stop(store, signal);
    expect(performance.now() - signalledAt).toBeLessThan(10_000);
    await load.end();
    expect(exit).toEqual({ code: 0, signal: null });
    expect(load.otherAnswers).toEqual([]);
    const stored = await storedIds();
    expect(load.answered.filter((id) => !stored.has(id))).toEqual([]);
    // Buffered lines are written before the end: one for each answer.
    expect(store.output.text.match(/"path":"\/plants","status":200/g)?.length).toBe(load.answered.length);
  });
});

test('a slow stop of PostgreSQL does not count against SHUTDOWN_TIMEOUT', async () => {
  const store = await startStore({ DATA_DIR: folder, SHUTDOWN_TIMEOUT: '1' });
  const { url, release } = await leaseEmbeddedPostgres(folder);
  const { rows } = await query(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
  await release();
  const { pid: checkpointer } = rows[0];
  process.kill(checkpointer, 'SIGSTOP');
  const exit = stop(store);
  try {
    await waitUntil('"stopped" in the log', () => store.output.text.includes('"stopped"'));
    // Longer than the timeout, so that a timer that still runs ends the process.
    await Promise.race([exit, setTimeout(1500)]);
    expect(isThere(store.pid)).toBe(true);
  } finally {
    process.kill(checkpointer, 'SIGCONT');
  }
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(() => statSync(join(folder, 'postgres', 'postmaster.pid'))).toThrow('ENOENT');
});

test('a crash exits with 1, and its reason is in the log', async () => {
  const database = await createTestDatabase();
  const crash = "process.on('SIGUSR2', () => { throw new Error('a crash on purpose') })";
  const store = await startStore({
    DATA_DIR: folder,
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}`,
  });
  expect(await stop(store, 'SIGUSR2')).toEqual({ code: 1, signal: null });
  await database.drop();
  expect(store.output.text).toMatch(/"level":"fatal".*a crash on purpose/);
});

test.each(['refuses connections', 'never answers'])(
  'in production the store starts on a database that %s',
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

describe('a token file that cannot be written', () => {
  const start = (DATABASE_URL: string) =>
    runCommand(['serve'], { PORT: '0', DATABASE_URL, DATA_DIR: join(folder, 'data', 'folder') });

  test('leaves no token at any start, and ends the start with a line', async () => {
    const database = await createTestDatabase();
    // Not by permissions, which do not keep root out.
    writeFileSync(join(folder, 'data'), '');
    for (let starts = 0; starts < 2; starts++) {
      const { code, stderr } = await start(database.url);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The access token of this machine cannot be kept: ENOTDIR.+ Set DATA_DIR .+\n$/);
    }
    expect(await database.query('SELECT name FROM tokens')).toEqual([]);
    await database.drop();
  });
});

test('a token file whose token was never stored is replaced', async () => {
  const database = await createTestDatabase();
  const unknown = generateTokenText();
  writeFileSync(join(folder, 'access-token'), `${unknown}\n`);
  const store = await startStore({ DATA_DIR: folder, DATABASE_URL: database.url });
  expect(store.token).not.toBe(unknown);
  expect(readFileSync(join(folder, 'access-token'), 'utf8')).toBe(`${store.token}\n`);
  expect(await post(store, 1)).toBe(200);
  await stop(store);
  await database.drop();
});

test('npm start and the image start Node.js with the same options', () => {
  const optionsIn = (text: string) => text.match(/--\S+/g);
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [firstLine = ''] = readFileSync('src/main.ts', 'utf8').split('\n', 1);
  expect(optionsIn(scripts.start)).toEqual(optionsIn(firstLine));
});

test('Ctrl-C, which reaches npm and the store both, still answers the requests under way', async () => {
  const store = await start();
  const load = putUnderLoad(store);
  await load.answers(100);
  process.kill(store.pid, 'SIGINT');
  process.kill(store.pid, 'SIGINT');
  expect(await store.exited).toEqual({ code: 0, signal: null });
  await load.end();
  expect(load.otherAnswers).toEqual([]);
});

test('SIGTERM to npm, as a supervisor sends it, reaches the store', async () => {
  const store = await start();
  store.process.kill('SIGTERM');
  expect(await store.exited).toEqual({ code: 0, signal: null });
  expect(store.output.text).toContain('"stopped"');
  expect(() => process.kill(store.pid, 0)).toThrow('ESRCH');
});

test('kill -9 loses no plant that was answered, and the next start takes the database over', async () => {
  const first = await start();
  const load = putUnderLoad(first);
  await load.answers(100);
  const postgres = () => readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0];
  const before = postgres();
  await stop(first, 'SIGKILL');
  await load.end();
  const second = await start();
  expect(postgres()).toBe(before);
  expect(second.token).toBe(first.token);
  expect(await post(second, 'x')).toBe(400);
  await stop(second);
  const stored = await storedIds();
  expect(load.answered.filter((id) => !stored.has(id))).toEqual([]);
});

test('a store that a failed test leaves running is killed behind npm too', async () => {
  const store = await start();
  killChildren();
  expect(await store.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await waitUntil('the store to end', () => !isThere(store.pid));
});
