import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
afterEach(() => service.stop());

const open = async () => {
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
};

const send = async (socket: Socket, text: string) => {
  socket.write(text);
  const [answer] = await once(socket, 'data');
  return String(answer);
};

const READY = 'GET /readyz HTTP/1.1\r\nHost: store\r\n\r\n';

test('a connection past MAX_CONNECTIONS is closed, and those before it are served', async () => {
  service = await startTestService({ MAX_CONNECTIONS: '3' });
  const sockets = [await open(), await open(), await open()];
  for (const socket of sockets) expect(await send(socket, READY)).toMatch(/^HTTP\/1\.1 200 /);
  const fourth = await open();
  await once(fourth, 'close');
  const [first] = sockets as [Socket];
  first.destroy();
  await setTimeout(100);
  expect(await send(await open(), READY)).toMatch(/^HTTP\/1\.1 200 /);
});

test('a store that stops takes requests for SHUTDOWN_DELAY, and says meanwhile that it is not ready', async () => {
  service = await startTestService({ SHUTDOWN_DELAY: '1' });
  const idle = await open();
  expect(await send(idle, READY)).toMatch(/^HTTP\/1\.1 200 /);
  const stopped = service.stopServer();
  const ready = await service.agent.get('/readyz');
  expect([ready.status, ready.body]).toEqual([
    503,
    { error: 1504, message: 'The store is stopping; send requests to another one.' },
  ]);
  const post = await service.post({ id: 1, name: 'Fir' });
  expect([post.status, post.headers.connection]).toEqual([200, 'close']);
  expect(await service.stored(1n)).toBeDefined();
  // One that was idle gets an answer too, which asks for it to be closed.
  expect(await send(idle, READY)).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s);
  await stopped;
  await expect(fetch(`${service.baseUrl}/livez`)).rejects.toThrow('fetch failed');
});
