import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const LARGE = 'Connection: close\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n';

/** Sends the beginning of a body that is too large, or has no token, and gets its response before it has sent the rest. */
const linger = async ({ baseUrl }: TestService, token = '') => {
  const socket = connect({ port: Number(new URL(baseUrl).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(`POST /plants HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${token}\r\n${LARGE}{`);
  const [response] = await once(socket, 'data');
  expect(String(response)).toMatch(token === '' ? /^HTTP\/1\.1 401 / : /^HTTP\/1\.1 400 /);
  return socket;
};

/** A client notices that its connection is closed when it sends more. */
const isClosed = (socket: Socket): boolean => {
  if (!socket.destroyed) socket.write(' ');
  return socket.destroyed;
};

test('once MAX_CONNECTIONS are open, those that have their response and still send make room for new ones', async () => {
  const service = await start({ MAX_CONNECTIONS: '4' });
  const lingering = [await linger(service), await linger(service), await linger(service), await linger(service)];
  await waitUntil('their responses', () => service.inUse().lingering === 4);
  expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  await waitUntil('the end of the oldest', () => isClosed(lingering[0] as Socket));
  expect(lingering.map(isClosed)).toEqual([true, false, false, false]);
});

test('many without a token do not cut off one with a token, which could lose its response', async () => {
  const service = await start();
  const own = await linger(service, service.token);
  const others = await Promise.all(Array.from({ length: 258 }, () => linger(service)));
  await waitUntil('the end of three', () => others.filter(isClosed).length === 3);
  expect(isClosed(own)).toBe(false);
});
