import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { lockPlants } from '../support/lock-plants.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
const startService = useTestServices();
const { writes } = limitRequests(readConfig({}));
/** A batch at a time. */
const start = (heldBytes: number) =>
  startService({ METRICS_PORT: '0' }, { requestLimits: { heldBytes, writes: { ...writes, batches: 1 } } });

const counted = async ({ metrics }: TestService) => {
  const { value } = await metrics();
  return ['bodies', 'responses'].map((what) => value(`plant_store_http_dropped_${what}_total`));
};

test('a body that is dropped while its plant waits for the database gets 503, and is not stored', async () => {
  const service = await start(500_000);
  const unlock = await lockPlants(service.database.url);
  // Each counts 200,000 bytes. The first is sent to PostgreSQL, where it stays.
  const posts: Promise<number[]>[] = [];
  for (let id = 1; id <= 5; id++) {
    posts.push(service.post({ id, name: 'x'.repeat(100_000) }).then(({ status, body }) => [status, body.error]));
    await waitUntil(
      'the plant',
      async () =>
        service.inUse().sent === 1 &&
        service.inUse().bodyBytes >= 200_000 * Math.min(id, 2) &&
        (await counted(service))[0] === Math.max(0, id - 2),
    );
  }
  expect(await counted(service)).toEqual([3, 0]);
  await unlock();
  const stored = [200, undefined];
  expect(await Promise.all(posts)).toEqual([stored, [503, 1500], [503, 1500], stored, stored]);
  const rows = await service.database.query('SELECT id FROM plants ORDER BY id');
  expect(rows.map(({ id }) => Number(id))).toEqual([1, 4, 5]);
});

test('a small body in two pieces that is dropped gets 503, and its plant is not stored', async () => {
  const service = await start(100_000);
  const unlock = await lockPlants(service.database.url);
  const first = service.post({ id: 1, name: 'Fir' }).then(({ status }) => status);
  await waitUntil('the first plant', () => service.inUse().sent === 1);
  const body = '{"id":2,"name":"Yew"}';
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  const response = once(socket, 'data');
  const headers = `Authorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n`;
  socket.write(
    `POST /plants HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await waitUntil('its first piece', () => service.inUse().bodyBytes > 0);
  socket.write(body.slice(5));
  await waitUntil('the second plant', () => service.inUse().queued === 1);
  const large = service.post({ id: 3, name: 'x'.repeat(90_000) }).then(({ status }) => status);
  await waitUntil('the large one', async () => (await counted(service))[0] === 1);
  await unlock();
  expect([await first, await large]).toEqual([200, 200]);
  expect(String(await response)).toMatch(/^HTTP\/1\.1 503 /);
  const rows = await service.database.query('SELECT id FROM plants ORDER BY id');
  expect(rows.map(({ id }) => Number(id))).toEqual([1, 3]);
});

test('a response that is dropped closes its connection', async () => {
  const service = await start(10_000_000);
  await service.database.query("INSERT INTO plants SELECT id, repeat('x', 8000000) FROM generate_series(1, 2) AS id");
  for (const id of [1, 2]) {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1').pause();
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(`GET /plants/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
    await waitUntil(
      'its response',
      async () => (await counted(service))[1] === id - 1 && service.inUse().responseBytes > 0,
    );
  }
  const [first] = sockets as [Socket];
  await once(first.resume(), 'close');
  expect(await counted(service)).toEqual([0, 1]);
  // Less than a connection may be idle.
}, 60_000);
