import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePort } from './support/free-port.ts';
import { cleanEnvironment, projectFolder, runCommand } from './support/store-process.ts';
import { makeTemporaryFolder } from './support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { waitUntil } from './support/wait-until.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

/** Serves with a standard output of the caller's, until `use` is done and a SIGTERM stops it. */
const serve = async (stdout: number | 'pipe', format: string, use: (url: string, metrics: string) => Promise<void>) => {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const environment = {
    DATABASE_URL: database.url,
    DATA_DIR: makeTemporaryFolder(),
    LOG_FORMAT: format,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    RATE_LIMIT: '1000000/60',
  };
  const store = spawn(process.execPath, ['bin/plant-store.js', 'serve'], {
    cwd: projectFolder,
    env: cleanEnvironment(environment),
    stdio: ['ignore', stdout, 'pipe'],
  });
  let errors = '';
  store.stderr?.on('data', (text) => {
    errors += text;
  });
  // A pipe whose other end is not read.
  store.stdout?.pause();
  const exited = once(store, 'exit');
  try {
    const url = `http://127.0.0.1:${port}`;
    await waitUntil('the store', async () => (await fetch(`${url}/livez`).catch(() => undefined))?.status === 200);
    await use(url, `http://127.0.0.1:${metricsPort}/metrics`);
    store.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    return errors;
  } finally {
    store.kill('SIGKILL');
  }
};

/** Asks for paths that the log repeats in full, until it has lost lines. */
const fillLog = async (url: string, metrics: string) => {
  const path = 'x'.repeat(8000);
  const askSome = () => Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/${path}`).then((r) => r.text())));
  await waitUntil('lost lines', async () => {
    await askSome();
    const text = await (await fetch(metrics)).text();
    return /^plant_store_log_dropped_lines_total [1-9]/m.test(text);
  });
};

test.each(['json', 'pretty'])('a full disk neither holds up requests nor the stop (%s)', async (format) => {
  const { stdout: token } = await runCommand(['token', 'create', '--name', 'test'], { DATABASE_URL: database.url });
  const full = openSync('/dev/full', 'w');
  const errors = await serve(full, format, async (url, metrics) => {
    if (format === 'json') await fillLog(url, metrics);
    const response = await fetch(`${url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' },
      body: '{"id":1,"name":"Fir"}',
    });
    expect(response.status).toBe(200);
  });
  expect(errors.match(/the log cannot be written/g)).toHaveLength(1);
});

test.each(['json', 'pretty'])(
  'a pipe that nobody reads neither holds up requests nor the stop (%s)',
  async (format) => {
    await serve('pipe', format, fillLog);
  },
);
