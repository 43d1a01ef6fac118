import { execFile } from 'node:child_process';
import { openSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { projectFolder, runCommand, serve } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const folder = useDataFolder();
const database = useTestDatabase({ each: true });

/** Starts the store with this standard output, calls `use`, and stops it with SIGTERM. @returns its standard error */
const serveWith = async (
  stdout: number | 'pipe',
  format: string,
  use: (url: string, metrics: string) => Promise<void>,
) => {
  const metricsPort = await freePort();
  const store = await serve({
    environment: {
      DATABASE_URL: database.url,
      DATA_DIR: folder.path,
      LOG_FORMAT: format,
      PORT: String(await freePort()),
      METRICS_PORT: String(metricsPort),
      RATE_LIMIT: '1000000/60',
    },
    stdout,
  });
  // Nobody reads the pipe.
  store.process.stdout?.pause();
  await use(store.url, `http://127.0.0.1:${metricsPort}/metrics`);
  expect(await store.stop()).toEqual([0, null]);
  return store.errors.text;
};

/** Requests long paths, which the log contains in full, until it drops lines. */
const fillLog = async (url: string, metrics: string) => {
  const path = 'x'.repeat(8000);
  const askSome = () => Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/${path}`).then((r) => r.text())));
  await waitUntil('dropped lines', async () => {
    await askSome();
    const text = await (await fetch(metrics)).text();
    return /^plant_store_log_dropped_lines_total [1-9]/m.test(text);
  });
};

test.each(['json', 'pretty'])('a full disk delays neither requests nor the stop (%s)', async (format) => {
  const { stdout: token } = await runCommand(['token', 'create', '--name', 'test'], { DATABASE_URL: database.url });
  const full = openSync('/dev/full', 'w');
  const errors = await serveWith(full, format, async (url, metrics) => {
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

test.each(['json', 'pretty'])('a pipe that nobody reads delays neither requests nor the stop (%s)', async (format) => {
  await serveWith('pipe', format, fillLog);
});

test.each(['json', 'pretty'])('the last lines are written to a pipe before the process exits (%s)', async (format) => {
  const script = `
    import { createLog } from './src/observability/logger.ts';
    const { logger, flush } = createLog({ level: 'info', format: '${format}' });
    for (let number = 0; number < 100; number++) logger.info('line');
    await flush();
    process.exit();`;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectFolder });
  expect(stdout.match(/line/g)).toHaveLength(100);
});
