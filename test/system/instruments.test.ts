import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startCollector } from '../support/collector.ts';
import { NOTHING_SET, projectFolder, startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const folder = useDataFolder();
const database = useTestDatabase({ each: true });

/** Starts and stops the store. @returns the packages that it loaded */
const loadedBy = async (environment: Record<string, string>) => {
  const file = join(folder.path, 'modules');
  const env = { ...process.env, ...NOTHING_SET, DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' };
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

describe('the packages for metrics and traces are loaded', () => {
  test('not by default', async () => {
    const loaded = await loadedBy({});
    expect(loaded).toContain('express');
    expect([...loaded].filter((name) => /^@(opentelemetry|prometheus-io)\//.test(name ?? ''))).toEqual([]);
  });

  test('if they are configured', async () => {
    const loaded = await loadedBy({ METRICS_PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    expect(loaded).toContain('@prometheus-io/client');
    expect(loaded).toContain('@opentelemetry/sdk-trace');
  });
});

test.each(['down', 'silent'])('a trace collector that is %s delays neither requests nor the stop', async (state) => {
  const collector = await startCollector({ answers: false });
  if (state === 'down') await collector.stop();
  const store = await startStore({ DATA_DIR: folder.path, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  try {
    const headers = { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json' };
    const post = async (id: number) => {
      const body = JSON.stringify({ id, name: 'Fir' });
      return (await fetch(`${store.url}/plants`, { method: 'POST', headers, body })).status;
    };
    // More spans than fit into the queue.
    for (let first = 0; first < 2000; first += 100) {
      const statuses = await Promise.all(Array.from({ length: 100 }, (_, index) => post(first + index)));
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
  } finally {
    const signalledAt = performance.now();
    expect(await store.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - signalledAt).toBeLessThan(4000);
    if (state === 'silent') await collector.stop();
  }
});
