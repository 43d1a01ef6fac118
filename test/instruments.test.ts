import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { killChildren } from './support/children.ts';
import { startCollector } from './support/collector.ts';
import { NOTHING_SET, projectFolder, startStore } from './support/store-process.ts';
import { makeTemporaryFolder } from './support/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = makeTemporaryFolder();
  database = await createTestDatabase();
});
afterEach(async () => {
  killChildren();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Starts and stops a store. @returns the packages that it loaded */
const loadedBy = async (environment: Record<string, string>) => {
  const file = join(folder, 'modules');
  const env = { ...process.env, ...NOTHING_SET, DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0' };
  const store = spawn(process.execPath, ['--import', './test/support/list-modules.js', 'src/main.ts', 'serve'], {
    cwd: projectFolder,
    env: { ...env, LOADED_MODULES: file, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(store, 'exit');
  let output = '';
  for await (const chunk of store.stdout) {
    output += chunk;
    if (output.includes('curl ')) store.kill('SIGTERM');
  }
  expect(await exited).toEqual([0, null]);
  const names = readFileSync(file, 'utf8').matchAll(/\/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//g);
  return new Set([...names].map(([, name]) => name));
};

describe('what shows the inside of the store is loaded', () => {
  test('only where it is wanted', async () => {
    const loaded = await loadedBy({});
    expect(loaded).toContain('express');
    expect([...loaded].filter((name) => /^@(opentelemetry|prometheus-io)\//.test(name ?? ''))).toEqual([]);
  });

  test('where it is wanted', async () => {
    const loaded = await loadedBy({ METRICS_PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    expect(loaded).toContain('@prometheus-io/client');
    expect(loaded).toContain('@opentelemetry/sdk-trace');
  });
});

test.each(['away', 'silent'])(
  'a collector of traces that is %s holds up neither a request nor the stop',
  async (state) => {
    const collector = await startCollector({ answers: false });
    if (state === 'away') await collector.stop();
    const store = await startStore({ DATA_DIR: folder, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    try {
      const headers = { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json' };
      const post = async (id: number) => {
        const body = JSON.stringify({ id, name: 'Fir' });
        return (await fetch(`${store.url}/plants`, { method: 'POST', headers, body })).status;
      };
      // More spans than may wait to be sent.
      for (let first = 0; first < 2000; first += 100) {
        const statuses = await Promise.all(Array.from({ length: 100 }, (_, index) => post(first + index)));
        expect(new Set(statuses)).toEqual(new Set([200]));
      }
    } finally {
      const signalledAt = performance.now();
      process.kill(store.pid, 'SIGTERM');
      expect(await store.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - signalledAt).toBeLessThan(4000);
      if (state === 'silent') await collector.stop();
    }
  },
);
