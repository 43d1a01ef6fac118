import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements } from '../support/lock-table.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitForWrites } from '../support/wait-for-writes.ts';
import { waitUntil } from '../support/wait-until.ts';

const startService = useTestServices();
let service: TestService;
const start = async (environment: Record<string, string> = {}) => {
  service = await startService({ METRICS_PORT: '0', ...environment });
};
const metrics = () => service.metrics();

const COUNT = 'plant_store_http_request_duration_seconds_count';

describe('GET /metrics', () => {
  test('is served on a separate port, on the loopback address, in the text format of Prometheus', async () => {
    await start();
    const { response, text } = await metrics();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE plant_store_http_request_duration_seconds histogram');
    expect(service.metricsUrl()).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await service.agent.get('/metrics')).status).toBe(404);
  });

  test('answers HEAD, and ignores a query', async () => {
    await start();
    const [head, withQuery] = [
      await fetch(service.metricsUrl(), { method: 'HEAD' }),
      await fetch(`${service.metricsUrl()}?x=1`),
    ];
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
      '',
    ]);
    expect([withQuery.status, await withQuery.text()]).toEqual([200, expect.stringContaining('# TYPE')]);
  });

  test('also has health checks on that port, and nothing else', async () => {
    await start();
    const get = (path: string, method = 'GET') => fetch(service.metricsUrl().replace('/metrics', path), { method });
    expect((await get('/')).status).toBe(404);
    expect((await get('/plants')).status).toBe(404);
    expect((await get('/metrics', 'POST')).status).toBe(404);
    expect((await get('/metrics?x=1')).status).toBe(200);
    expect((await get('/metrics', 'HEAD')).status).toBe(200);
    expect(await (await get('/livez')).json()).toEqual({ status: 'live' });
    expect(await (await get('/readyz')).json()).toEqual({ status: 'ready' });
    await service.database.query('DELETE FROM _prisma_migrations');
    const notMigrated = await get('/readyz');
    expect([notMigrated.status, notMigrated.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await notMigrated.json()).toEqual({
      error: 1502,
      message: 'The database is not migrated. Run: plant-store migrate',
    });
    expect((await get('/livez')).status).toBe(200);
  });

  test('is off unless METRICS_PORT is set', async () => {
    service = await startService();
    expect(service.log.map(({ msg }) => msg)).not.toContain('metrics are served');
  });

  test('is closed when the service stops', async () => {
    await start();
    await service.stopServer();
    await expect(metrics()).rejects.toThrow('fetch failed');
  });

  test('includes the version and the state of the process', async () => {
    await start();
    const { value } = await metrics();
    expect(value('plant_store_build_info', { version: '1.0.0', node_version: process.versions.node })).toBe(1);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });
});

describe('requests are counted and timed', () => {
  test('by method, route, status and error', async () => {
    await start();
    await service.post({ id: 1, name: 'Fir' });
    await service.post({ id: 1, name: 'Fir' });
    await service.post({ id: 2 });
    await service.agent.get('/livez');
    await service.agent.put('/plants');
    const { value } = await metrics();
    const posted = { method: 'POST', route: '/plants' };
    expect(value(COUNT, { ...posted, status: '200', error: '' })).toBe(1);
    expect(value(COUNT, { ...posted, status: '400', error: '1004' })).toBe(1);
    expect(value(COUNT, { ...posted, status: '400', error: '1003' })).toBe(1);
    expect(value(COUNT, { method: 'GET', route: '/livez', status: '200' })).toBe(1);
    expect(value(COUNT, { method: 'PUT', route: '/plants', status: '405', error: '1202' })).toBe(1);
    expect(value('plant_store_http_errors_total', { error: '1004' })).toBe(1);
    expect(value('plant_store_http_errors_total', { error: '1599' })).toBe(0);
    expect(value('plant_store_http_errors_total')).toBe(3);
    const seconds = value('plant_store_http_request_duration_seconds_sum', posted) ?? 0;
    expect(seconds).toBeGreaterThan(0.0001);
    expect(seconds).toBeLessThan(10);
  });

  test('by route, with any base path', async () => {
    await start({ BASE_PATH: '/api/v1' });
    await service.agent.post('/api/v1/plants');
    expect((await metrics()).value(COUNT, { route: '/plants', status: '401', error: '1100' })).toBe(1);
    await service.agent.get('/');
    await service.agent.get('/api/v1/');
    const { value } = await metrics();
    expect([value(COUNT, { route: '/' }), value(COUNT, { route: '/api/v1/' })]).toEqual([1, 1]);
  });

  test('without a series for each path or method that a client makes up', async () => {
    await start();
    for (let number = 0; number < 20; number++) await service.agent.get(`/made/up/${number}`);
    await fetch(`${service.baseUrl}/livez`, { method: 'PROPFIND' });
    const { samples, value } = await metrics();
    expect(value(COUNT, { method: 'GET', route: 'unknown', status: '404', error: '1200' })).toBe(20);
    expect(value(COUNT, { method: 'other', route: '/livez', status: '405' })).toBe(1);
    expect(samples.filter(({ name }) => name === COUNT)).toHaveLength(2);
  });

  test('even if the client disconnects', async () => {
    await start();
    const unlock = await lockPlants(service.database.url);
    const abort = new AbortController();
    const request = fetch(`${service.baseUrl}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
      body: '{"id":1,"name":"Fir"}',
      signal: abort.signal,
    });
    await waitForWrites(service, 1);
    abort.abort();
    await expect(request).rejects.toThrow('aborted');
    await waitUntil('the request in the metrics', async () => (await metrics()).value(COUNT) !== undefined);
    expect((await metrics()).value(COUNT, { route: '/plants', status: 'aborted' })).toBe(1);
    await unlock();
  });

  test('even if their bodies are not valid HTTP', async () => {
    await start();
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}`;
    socket.end(`${head}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n`).resume();
    await once(socket, 'close');
    expect((await metrics()).value('plant_store_http_errors_total', { error: '1006' })).toBe(1);
  });

  test('even if they are not valid HTTP', async () => {
    await start();
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.end('no HTTP at all\r\n\r\n').resume();
    await once(socket, 'close');
    expect((await metrics()).value('plant_store_http_errors_total', { error: '1006' })).toBe(1);
  });
});

test('the metrics show the queue, the batches under way, the connection pool and the stored plants', async () => {
  const writes = { queue: 'writes' };
  await start({ DATABASE_CONNECTIONS: '3', QUEUE_LIMIT: '100' });
  const unlock = await lockPlants(service.database.url);
  const posts: Promise<number>[] = [];
  // One at a time, so that two take the two batch slots and the others wait.
  let blockedSince = 0;
  for (let id = 1; id <= 6; id++) {
    posts.push(service.post({ id, name: 'Fir' }).then(({ status }) => status));
    await waitForWrites(service, id);
    blockedSince ||= performance.now();
  }
  await waitUntil(
    'both batches to reach PostgreSQL',
    async () => (await blockedStatements(service.database)).length === 2,
  );
  const during = await metrics();
  expect(during.value('plant_store_batches_under_way', writes)).toBe(2);
  expect(during.value('plant_store_queue_items', writes)).toBe(4);
  expect(during.value('plant_store_queue_bytes', writes)).toBeGreaterThan(4 * 500);
  expect(during.value('plant_store_queue_limit_items', writes)).toBe(100);
  expect(during.value('plant_store_database_connections', { state: 'used' })).toBe(2);
  expect(during.value('plant_store_database_connections_limit')).toBe(3);
  expect(during.value('plant_store_database_waiting_statements')).toBe(0);
  const blockedFor = (performance.now() - blockedSince) / 1000;
  await unlock();
  expect(await Promise.all(posts)).toEqual([200, 200, 200, 200, 200, 200]);
  const { value } = await metrics();
  expect(value('plant_store_batches_under_way', writes)).toBe(0);
  expect(value('plant_store_queue_items', writes)).toBe(0);
  expect(value('plant_store_database_connections', { state: 'used' })).toBe(0);
  expect(value('plant_store_batch_items_sum', writes)).toBe(6);
  expect(value('plant_store_batch_items_count', writes)).toBe(3);
  expect(value('plant_store_batch_items_bucket', { ...writes, le: '2' })).toBe(2);
  expect(value('plant_store_batch_duration_seconds_sum', writes)).toBeGreaterThan(blockedFor);
  expect(value('plant_store_batch_duration_seconds_sum', writes)).toBeLessThan(60);
});

test('reads of one plant are counted by route pattern, and their batches separately from writes', async () => {
  await start();
  await service.post({ id: 1, name: 'Fir' });
  const paths = ['/plants/1', '/plants/1', '/plants/2'];
  for (const path of paths) await service.agent.get(path).set('Authorization', `Bearer ${service.token}`);
  const { value } = await metrics();
  const route = { method: 'GET', route: '/plants/:id' };
  expect(value(COUNT, { ...route, status: '200' })).toBe(2);
  expect(value(COUNT, { ...route, status: '404', error: '1201' })).toBe(1);
  expect(value('plant_store_batch_items_sum', { queue: 'reads' })).toBe(3);
  expect(value('plant_store_batch_items_sum', { queue: 'writes' })).toBe(1);
});
