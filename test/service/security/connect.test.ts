import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../../support/lock-plants.ts';
import { exchangeBytes } from '../../support/raw-http.ts';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';
import { waitUntil } from '../../support/wait-until.ts';

const start = useTestServices();
let service: TestService;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const port = () => Number(new URL(service.baseUrl).port);
const TUNNEL = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`;
const largePage = () => get('/docs/swagger-ui-bundle.js');

/** Sends `text`, and reads until the first piece of a response arrives or the service closes the connection. */
const open = async (text: string, rest = '') => {
  const socket = connect(port(), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(text);
  await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {});
  socket.pause();
  if (rest) socket.write(rest);
  return socket;
};

/** In ms. A connection that is left behind ends only then. */
const SHUTDOWN_TIMEOUT = 40_000;
const startPatient = (environment: Record<string, string> = {}) =>
  start({ ...environment, SHUTDOWN_TIMEOUT: `${SHUTDOWN_TIMEOUT}ms` });

const expectQuickStop = async () => {
  const startedAt = performance.now();
  await service.stopServer();
  expect(performance.now() - startedAt).toBeLessThan(SHUTDOWN_TIMEOUT / 2);
};

describe('CONNECT while a response is in progress closes the connection at once, and leaves nothing behind', () => {
  test.each([
    ['behind a large response', () => largePage() + TUNNEL, ''],
    ['after the first piece of a large response', largePage, TUNNEL],
    ['with a body', () => `${largePage()}CONNECT x:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`, ''],
    ['twice', () => largePage() + TUNNEL + TUNNEL, ''],
    ['behind requests that come too early', () => largePage() + get('/livez').repeat(3) + TUNNEL, ''],
    ['behind a request with Upgrade', () => largePage().replace('\r\n\r\n', '\r\nUpgrade: x\r\n\r\n') + TUNNEL, ''],
  ])('%s', async (_title, text, rest) => {
    service = await startPatient({ MAX_CONNECTIONS: '10' });
    for (let count = 0; count < 10; count++) await open(text(), rest);
    for (const socket of sockets) socket.end();
    const isFree = async () => (await fetch(`${service.baseUrl}/livez`).catch(() => undefined))?.status === 200;
    await waitUntil('a free connection', isFree);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expectQuickStop();
  });

  test('behind an export that is read slowly, whose slot is free again', async () => {
    service = await startPatient();
    await service.database.query(
      "INSERT INTO plants (id, name) SELECT id, repeat('x', 10000) FROM generate_series(1, 3000) AS id",
    );
    await open(get('/plants/export'), TUNNEL);
    await waitUntil('a free slot', async () => (await service.request('get', '/plants/export')).status === 200);
    await expectQuickStop();
  });

  test('behind a read that waits', async () => {
    service = await startPatient();
    const unlock = await lockPlants(service.database.url);
    const socket = await open(get('/plants/1') + TUNNEL);
    expect(socket.closed).toBe(true);
    await unlock();
    await expectQuickStop();
  });
});

test('CONNECT on its own gets a 405, and what follows it is discarded', async () => {
  service = await startPatient();
  const bytes = Buffer.from(TUNNEL + TUNNEL + get('/livez') + 'x'.repeat(1_000_000));
  expect(await exchangeBytes({ port: port(), bytes })).toMatchObject([{ status: 405 }]);
  await expectQuickStop();
});

test('CONNECT behind a response that closes the connection is discarded', async () => {
  service = await startPatient();
  const chunk = `1e8480\r\n${' '.repeat(2_000_000)}\r\n0\r\n\r\n`;
  const large = `POST /plants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`;
  const bytes = Buffer.from(large + TUNNEL);
  expect(await exchangeBytes({ port: port(), bytes })).toMatchObject([{ status: 401 }]);
  await expectQuickStop();
});

test('clients that reset their connections after CONNECT end nothing else', async () => {
  service = await startPatient();
  for (let count = 0; count < 10; count++) {
    const socket = await open(TUNNEL, 'x'.repeat(count * 20_000));
    socket.resetAndDestroy();
    // Jest fails on an uncaught exception, which would end the process.
    expect((await fetch(`${service.baseUrl}/livez`)).status).toBe(200);
  }
});
