import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. What a stop waits for in vain ends only then. */
const SHUTDOWN_TIMEOUT = 40_000;
/** How long a client of the port of the metrics may take to send its header, in ms. */
const METRICS_REQUEST_TIMEOUT = 10_000;
const LONG = { idle: 3_600_000, total: 3_600_000 };

const start = useTestServices();
let service: TestService;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
/** Opens a connection whose client does not end its side when the service does. */
const open = async (text: string, url = service.baseUrl) => {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
};

test('a stop does not wait for clients that still send what nobody reads', async () => {
  service = await start({ SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms` }, { requestLimits: { linger: LONG } });
  (await open('POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')).resume();
  await waitUntil('the response', () => service.inUse().lingering === 1);
  const startedAt = performance.now();
  await service.stopServer();
  expect(performance.now() - startedAt).toBeLessThan(SHUTDOWN_TIMEOUT / 2);
});

test.each([
  ['the rest of a body', 'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{'],
  ['the rest of a header', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost: '],
])('a stop does not wait for %s whose client has its response', async (_title, text) => {
  service = await start({ SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms`, REQUEST_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms` });
  const [request = '', rest = ''] = text.split(/(?<=\r\n\r\n)/);
  const socket = await open(request);
  await once(socket, 'data');
  socket.write(rest);
  await waitUntil('the end of the request', () => service.inUse().requests === 0);
  const startedAt = performance.now();
  await service.stopServer();
  expect(performance.now() - startedAt).toBeLessThan(SHUTDOWN_TIMEOUT / 2);
});

test('a stop does not wait for the rest of a header on the port of the metrics', async () => {
  service = await start({ METRICS_PORT: '0', SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms` });
  await open('GET /metrics HTTP/1.1\r\nHost: ', service.metricsUrl());
  // On a later connection, so that the first is accepted.
  await service.metrics();
  const startedAt = performance.now();
  await service.stopServer();
  expect(performance.now() - startedAt).toBeLessThan(METRICS_REQUEST_TIMEOUT / 2);
});

test('a response that is complete, but whose client reads slowly, is sent to its end before a stop', async () => {
  service = await start({ SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms` });
  const length = 16_000_000;
  await service.database.query(`INSERT INTO plants VALUES (1, repeat('x', ${length}))`);
  const socket = await open(`GET /plants/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
  socket.pause();
  await waitUntil('the response', () => service.inUse().responseBytes > 0);
  const stopped = service.stopServer();
  // Several times as long as between two looks at connections that are idle.
  const later = performance.now() + 300;
  await waitUntil('the stop to go on', () => performance.now() > later);
  let received = 0;
  for await (const piece of socket) received += piece.length;
  socket.end();
  expect(received).toBeGreaterThan(length);
  await stopped;
});

test('a stop makes the response in progress close its connection', async () => {
  service = await start();
  const unlock = await lockPlants(service.database.url);
  const body = '{"id":1,"name":"Fir"}';
  const header = `Content-Type: application/json\r\nAuthorization: Bearer ${service.token}\r\nContent-Length: ${body.length}`;
  const socket = await open(`POST /plants HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n${body}`);
  await waitForBlocked(service.database).catch(unlock);
  const stopped = service.stopServer();
  const responded = once(socket, 'data');
  await unlock();
  expect(String((await responded)[0])).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n/s);
  await stopped;
});
