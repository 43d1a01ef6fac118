import { once } from 'node:events';
import { beforeEach, expect, test } from '@jest/globals';
import { scrape } from '../support/scrape.ts';
import type { StoreProcess } from '../support/store-process.ts';
import { runCommand, spawnCommand, startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const folder = useDataFolder();
let nextId: number;
let store: StoreProcess;
beforeEach(async () => {
  nextId = 1;
  store = await startStore({ DATA_DIR: folder.path, WORKERS: '2', METRICS_PORT: '0' });
});

/** Posts a plant on a new connection, so that the workers take turns. */
const post = async (id = nextId++) => {
  const headers = { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json', Connection: 'close' };
  const response = await fetch(`${store.url}/plants`, { method: 'POST', headers, body: `{"id":${id},"name":"Fir"}` });
  await response.text();
  return response.status;
};

/** The lines of the log so far; each is valid JSON. */
const log = (): Record<string, unknown>[] =>
  store.output.text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
const requests = () => log().filter(({ path }) => path === '/plants');
const metricsPort = () => log().find(({ msg }) => msg === 'metrics are served')?.port;
const metrics = () => scrape(`http://127.0.0.1:${metricsPort()}/metrics`);
const check = (path: string) => fetch(`http://127.0.0.1:${metricsPort()}${path}`);
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const startedPids = () => log().flatMap(({ msg, pid }) => (msg === 'worker started' ? [Number(pid)] : []));

test('two workers serve one port, log whole lines, and stop together', async () => {
  const statuses = await Promise.all(Array.from({ length: 400 }, () => post()));
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(await post(1)).toBe(400);
  expect(await store.stop()).toEqual({ code: 0, signal: null });
  expect(requests()).toHaveLength(401);
  expect(new Set(requests().map(({ worker }) => worker))).toEqual(new Set([1, 2]));
});

test('the metrics include every worker, labelled with its number', async () => {
  const name = 'plant_store_http_request_duration_seconds_count';
  await Promise.all(Array.from({ length: 100 }, () => post()));
  expect((await metrics()).value(name, { route: '/plants', status: '200' })).toBe(100);
  await post();
  const { value } = await metrics();
  expect(value(name, { route: '/plants', status: '200' })).toBe(101);
  expect(value('plant_store_workers')).toBe(2);
  for (const worker of ['1', '2']) {
    expect(value(name, { worker })).toBeGreaterThan(0);
    expect(value('nodejs_eventloop_lag_p99_seconds', { worker })).toBeGreaterThan(0);
    expect(value('plant_store_queue_items', { worker })).toBe(0);
    expect(value('plant_store_ready', { worker })).toBe(1);
  }
});

test('the health checks on the port of the metrics ask the workers', async () => {
  await waitUntil('two workers', () => startedPids().length === 2);
  expect([(await check('/livez')).status, (await check('/readyz')).status]).toEqual([200, 200]);
  const [first = 0, second = 0] = startedPids();
  process.kill(first, 'SIGSTOP');
  expect((await check('/readyz')).status).toBe(200);
  process.kill(second, 'SIGSTOP');
  const response = await check('/readyz');
  expect([response.status, await response.json()]).toEqual([503, { error: 1500, message: 'No worker responds.' }]);
  expect((await check('/livez')).status).toBe(200);
  for (const pid of [first, second]) process.kill(pid, 'SIGCONT');
  await waitUntil('a worker to answer', async () => (await check('/readyz')).status === 200);
});

test('a stuck worker does not hide the metrics of the others', async () => {
  const up = async (worker: string) => (await metrics()).value('plant_store_worker_up', { worker });
  await waitUntil('two workers', () => startedPids().length === 2);
  expect([await up('1'), await up('2')]).toEqual([1, 1]);
  const [stuck = 0] = startedPids();
  const { worker } = log().find(({ pid }) => pid === stuck) ?? {};
  const [other] = ['1', '2'].filter((id) => id !== String(worker));
  process.kill(stuck, 'SIGSTOP');
  const { response, value } = await metrics();
  expect(response.status).toBe(200);
  expect(value('plant_store_worker_up', { worker: String(worker) })).toBe(0);
  expect(value('plant_store_worker_up', { worker: String(other) })).toBe(1);
  expect(value('plant_store_build_info', { worker: String(worker) })).toBeUndefined();
  expect(value('plant_store_build_info', { worker: String(other) })).toBe(1);
  process.kill(stuck, 'SIGCONT');
  await waitUntil('the worker to answer', async () => (await up(String(worker))) === 1);
});

test('a worker that dies is replaced, and so is the one that replaced it', async () => {
  await waitUntil('two workers', () => startedPids().length === 2);
  process.kill(startedPids()[0] ?? 0, 'SIGKILL');
  await waitUntil('a third worker', () => startedPids().length === 3);
  expect(log()).toContainEqual(expect.objectContaining({ level: 'error', signal: 'SIGKILL', msg: 'a worker died' }));
  expect(startedPids().slice(1).every(isAlive)).toBe(true);
  // The third worker has its own series, and those of the first are gone, so no counter decreases.
  await waitUntil(
    'metrics of the third worker',
    async () => (await metrics()).value('plant_store_build_info', { worker: '3' }) === 1,
  );
  expect((await metrics()).value('plant_store_build_info')).toBe(2);
  await waitUntil('a request at the third worker', async () => {
    await post();
    return requests().some(({ worker }) => worker === 3);
  });
  process.kill(startedPids()[2] ?? 0, 'SIGKILL');
  await waitUntil('a fourth worker', () => startedPids().length === 4);
  const statuses = await Promise.all(Array.from({ length: 40 }, () => post()));
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  // Both had started well, so neither pause is longer.
  expect(log().flatMap(({ msg, replacedIn }) => (msg === 'a worker died' ? [replacedIn] : []))).toEqual([1000, 1000]);
});

test('a worker that died is not replaced during a stop', async () => {
  await store.stop();
  store = await startStore({ DATA_DIR: folder.path, WORKERS: '2', METRICS_PORT: '0', SHUTDOWN_DELAY: '3' });
  await waitUntil('two workers', () => startedPids().length === 2);
  const [pid = 0] = startedPids();
  process.kill(pid, 'SIGKILL');
  // Its line in the log comes up to half a second later.
  await waitUntil('its end', () => !isAlive(pid));
  expect(await store.stop()).toEqual({ code: 0, signal: null });
  expect(startedPids()).toHaveLength(2);
});

test('both workers refuse a revoked token after at most 5 seconds', async () => {
  await Promise.all(Array.from({ length: 20 }, () => post()));
  const [{ name }] = JSON.parse((await runCommand(['token', 'list', '--json'], { DATA_DIR: folder.path })).stdout);
  await runCommand(['token', 'revoke', name], { DATA_DIR: folder.path });
  const revokedAt = performance.now();
  let acceptedAt = 0;
  const refusing = () => new Set(requests().flatMap(({ status, worker }) => (status === 401 ? [worker] : [])));
  await waitUntil('both workers to refuse it', async () => {
    const sentAt = performance.now();
    if ((await post()) === 200) acceptedAt = sentAt;
    return refusing().size === 2;
  });
  expect(acceptedAt - revokedAt).toBeLessThan(5000);
  const statuses = await Promise.all(Array.from({ length: 20 }, () => post()));
  expect(new Set(statuses)).toEqual(new Set([401]));
});

test('a signal to all processes while the workers start is a clean stop', async () => {
  await store.stop();
  const starting = spawnCommand(['serve'], { DATA_DIR: folder.path, WORKERS: '2', PORT: '0' });
  const ended = once(starting, 'close');
  let output = '';
  starting.stderr?.on('data', (chunk) => (output += chunk));
  starting.stdout?.on('data', (chunk) => {
    output += chunk;
    const isSecond = String(chunk).includes('"worker started"') && output.match(/"worker started"/g)?.length === 2;
    if (isSecond && starting.pid) process.kill(-starting.pid, 'SIGTERM');
  });
  expect(await ended).toEqual([0, null]);
  expect(output).not.toMatch(/did not start|a worker died/);
});

test('a worker that hangs is gone when the time to stop is over', async () => {
  await waitUntil('two workers', () => startedPids().length === 2);
  const [stuck = 0] = startedPids();
  process.kill(stuck, 'SIGSTOP');
  expect((await store.stop()).code).toBe(1);
  await waitUntil('the end of the worker', () => {
    try {
      return !process.kill(stuck, 0);
    } catch {
      return true;
    }
  });
});
