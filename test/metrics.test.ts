import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from './support/lock-plants.ts';
import { scrape } from './support/scrape.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
afterEach(() => service.stop());

const start = async (environment: Record<string, string> = {}) => {
  service = await startTestService({ METRICS_PORT: '0', ...environment });
};

const metricsUrl = () => {
  const line = service.log.find(({ msg }) => msg === 'metrics are served');
  return `http://${line?.host}:${line?.port}/metrics`;
};
const metrics = () => scrape(metricsUrl());

const COUNT = 'plant_store_http_request_duration_seconds_count';

describe('GET /metrics', () => {
  test('is served on a port of its own, on loopback, in the text format of Prometheus', async () => {
    await start();
    const { response, text } = await metrics();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE plant_store_http_request_duration_seconds histogram');
    expect(metricsUrl()).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await service.agent.get('/metrics')).status).toBe(404);
  });

  test('answers nothing else', async () => {
    await start();
    expect((await fetch(metricsUrl().replace('/metrics', '/'))).status).toBe(404);
    expect((await fetch(metricsUrl(), { method: 'POST' })).status).toBe(404);
  });

  test('is off unless METRICS_PORT is set', async () => {
    service = await startTestService();
    expect(service.log.map(({ msg }) => msg)).not.toContain('metrics are served');
  });

  test('ends with the store', async () => {
    await start();
    await service.stopServer();
    await expect(metrics()).rejects.toThrow('fetch failed');
  });

  test('says what runs, and how the process does', async () => {
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

  test('by the route whatever the base path', async () => {
    await start({ BASE_PATH: '/api/v1' });
    await service.agent.post('/api/v1/plants');
    expect((await metrics()).value(COUNT, { route: '/plants', status: '401', error: '1100' })).toBe(1);
  });

  test('without a series for what a client makes up', async () => {
    await start();
    for (let number = 0; number < 20; number++) await service.agent.get(`/made/up/${number}`);
    await fetch(`${service.baseUrl}/livez`, { method: 'PROPFIND' });
    const { samples, value } = await metrics();
    expect(value(COUNT, { method: 'GET', route: 'unknown', status: '404', error: '1200' })).toBe(20);
    expect(value(COUNT, { method: 'other', route: '/livez', status: '405' })).toBe(1);
    expect(samples.filter(({ name }) => name === COUNT)).toHaveLength(2);
  });

  test('also where the client went away', async () => {
    await start();
    const unlock = await lockPlants(service.database.url);
    const abort = new AbortController();
    const request = fetch(`${service.baseUrl}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
      body: '{"id":1,"name":"Fir"}',
      signal: abort.signal,
    });
    while (!(await metrics()).value('plant_store_batches_under_way')) await setTimeout(20);
    abort.abort();
    await expect(request).rejects.toThrow('aborted');
    while ((await metrics()).value(COUNT) === undefined) await setTimeout(20);
    expect((await metrics()).value(COUNT, { route: '/plants', status: 'aborted' })).toBe(1);
    await unlock();
  });

  test('also where they are no requests to the app', async () => {
    await start();
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.end('no HTTP at all\r\n\r\n').resume();
    await once(socket, 'close');
    expect((await metrics()).value('plant_store_http_errors_total', { error: '1006' })).toBe(1);
  });
});

test('the queue, the batches under way and the pool show what waits for PostgreSQL, and the batches what was stored', async () => {
  const writes = { queue: 'writes' };
  await start({ DATABASE_CONNECTIONS: '3', QUEUE_LIMIT: '100' });
  const unlock = await lockPlants(service.database.url);
  const posts: Promise<number>[] = [];
  // Apart, so that they take up every batch that may be under way; the others wait.
  for (let id = 1; id <= 6; id++) {
    posts.push(service.post({ id, name: 'Fir' }).then(({ status }) => status));
    await setTimeout(100);
  }
  const during = await metrics();
  expect(during.value('plant_store_batches_under_way', writes)).toBe(2);
  expect(during.value('plant_store_queue_items', writes)).toBe(4);
  expect(during.value('plant_store_queue_limit_items', writes)).toBe(100);
  expect(during.value('plant_store_database_connections', { state: 'used' })).toBe(2);
  expect(during.value('plant_store_database_connections_limit')).toBe(3);
  expect(during.value('plant_store_database_waiting_statements')).toBe(0);
  await unlock();
  expect(await Promise.all(posts)).toEqual([200, 200, 200, 200, 200, 200]);
  const { value } = await metrics();
  expect(value('plant_store_batches_under_way', writes)).toBe(0);
  expect(value('plant_store_queue_items', writes)).toBe(0);
  expect(value('plant_store_database_connections', { state: 'used' })).toBe(0);
  expect(value('plant_store_batch_items_sum', writes)).toBe(6);
  expect(value('plant_store_batch_items_count', writes)).toBe(3);
  expect(value('plant_store_batch_items_bucket', { ...writes, le: '2' })).toBe(2);
  expect(value('plant_store_batch_duration_seconds_sum', writes)).toBeGreaterThan(0.5);
  expect(value('plant_store_batch_duration_seconds_sum', writes)).toBeLessThan(60);
});

test('reads of one plant are counted by the pattern of their route, and their batches apart from the writes', async () => {
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
