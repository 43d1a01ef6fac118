import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { sendBytes } from '../../src/http/send-json.ts';
import { createHttpServer } from '../../src/server/http-server.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const service = useTestService();
const MIB = 1_048_576;
const TIMES = propertyRuns(20);

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const open = (port: number) => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).pause();
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
};

/** Waits until the system has the bytes. */
const write = (socket: Socket, bytes: string | Buffer) =>
  new Promise<void>((resolve) => socket.write(bytes, () => resolve()));

const servicePort = () => Number(new URL(service.baseUrl).port);

type Upload = {
  path: string;
  token?: string;
  type?: string;
  size: number;
  start?: string;
  isChunked?: boolean;
  end?: boolean;
  port?: number;
};

/** Writes a whole request before it reads. @returns all that it can read then */
const upload = async ({ path, token = service.token, size, isChunked = false, ...options }: Upload) => {
  const { type = 'application/json', start = '', end = false, port = servicePort() } = options;
  const socket = open(port);
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`;
  const fields = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\n${framing}`;
  await write(socket, `POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n`);
  const piece = Buffer.alloc(65_536, '{"id":1,"name":"Fir"}            \n');
  const send = (bytes: Buffer | string) =>
    isChunked ? write(socket, `${bytes.length.toString(16)}\r\n${bytes}\r\n`) : write(socket, bytes);
  if (start) await send(start);
  for (let sent = start.length; sent < size && !socket.destroyed; sent += piece.length)
    await send(piece.subarray(0, Math.min(piece.length, size - sent)));
  if (isChunked) await write(socket, '0\r\n\r\n');
  if (end) socket.end();
  const received: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => received.push(bytes)).resume();
  await Promise.race([once(socket, 'end'), once(socket, 'close')]).catch(() => {});
  socket.destroy();
  const text = Buffer.concat(received).toString();
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  return {
    status: Number(head.slice(9, 12)),
    isWhole: Buffer.byteLength(body) === Number(/^content-length: (\d+)/im.exec(head)?.[1]),
  };
};

const ROW = 'application/x-ndjson';

describe('a client that writes its whole request before it reads gets the whole response', () => {
  test.each<[string, number, () => Upload]>([
    [
      'an import that stops at its first row',
      400,
      () => ({ path: '/plants/import?maxErrors=0', type: ROW, size: 64 * MIB, start: 'x\n' }),
    ],
    [
      'an import in chunks',
      400,
      () => ({ path: '/plants/import?maxErrors=0', type: ROW, size: 16 * MIB, start: 'x\n', isChunked: true }),
    ],
    [
      'an import that stops at 1001 wrong rows',
      400,
      () => ({ path: '/plants/import', type: ROW, size: 16 * MIB, start: 'x\n'.repeat(1001) }),
    ],
    ['a body above BODY_LIMIT', 400, () => ({ path: '/plants', size: 16 * MIB })],
    ['a body above BODY_LIMIT in chunks', 400, () => ({ path: '/plants', size: 16 * MIB, isChunked: true })],
    ['a wrong token', 401, () => ({ path: '/plants', token: 'x', size: 16 * MIB })],
    [
      'an import with a wrong token, whose client ends its side',
      401,
      () => ({ path: '/plants/import', token: 'x', size: 16 * MIB, isChunked: true, end: true }),
    ],
    ['an unknown path', 404, () => ({ path: '/plans', size: 16 * MIB })],
    ['a method that is not allowed', 405, () => ({ path: '/plants/1', size: 16 * MIB, isChunked: true })],
    ['a target that is not a path', 400, () => ({ path: 'plants', size: 16 * MIB })],
    ['a request that is not HTTP', 400, () => ({ path: '/plants x', size: 16 * MIB })],
  ])('%s', async (_title, status, options) => {
    for (let time = 0; time < TIMES; time++) expect(await upload(options())).toEqual({ status, isWhole: true });
  });

  test('a response that is larger than the buffers of the system', async () => {
    const handler = (_request: IncomingMessage, response: ServerResponse) => {
      response.statusCode = 400;
      response.setHeader('Connection', 'close');
      sendBytes(response, Buffer.alloc(32 * MIB));
    };
    const server = createHttpServer({ handler, requestTimeout: 5000 });
    const port = await server.listen('127.0.0.1', 0);
    expect(await upload({ path: '/', size: 64 * MIB, port })).toEqual({ status: 400, isWhole: true });
    await server.close({ delay: 0, timeout: 5000 });
  });
});

describe('a client that never stops sending', () => {
  const respond = (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(400, { Connection: 'close' }).end('no');
  };
  /** A server that discards for `total` ms, or until a pause of `idle` ms. */
  const listen = async (lingerTimes: { idle: number; total: number }, maxConnections = 1000) => {
    const server = createHttpServer({ handler: respond, requestTimeout: 1000, lingerTimes, maxConnections });
    return { server, port: await server.listen('127.0.0.1', 0) };
  };
  const START = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n';
  /** Sends for ever. */
  const flood = (port: number, bytes: Buffer) => {
    const socket = open(port);
    socket.write(START);
    const next = () => socket.writable && socket.write(bytes, () => setImmediate(next));
    next();
    return socket;
  };
  const isServed = async (port: number) =>
    (await fetch(`http://127.0.0.1:${port}`).catch(() => undefined))?.status === 400;
  const timeUntilClosed = async (socket: Socket) => {
    const startedAt = performance.now();
    await once(socket, 'close').catch(() => {});
    return performance.now() - startedAt;
  };

  test('is cut off after a time, later than REQUEST_TIMEOUT', async () => {
    const { server, port } = await listen({ idle: 500, total: 3000 });
    const time = await timeUntilClosed(flood(port, Buffer.alloc(1)));
    expect(time).toBeGreaterThan(2500);
    await server.close({ delay: 0, timeout: 5000 });
  });

  test('is cut off once it pauses', async () => {
    const { server, port } = await listen({ idle: 500, total: 60_000 }, 1);
    const socket = open(port);
    socket.write(START + 'x'.repeat(100));
    await once(socket.resume(), 'end');
    await waitUntil('a free connection', () => isServed(port), { patience: 10_000 });
    await server.close({ delay: 0, timeout: 5000 });
  });

  test('holds at most 256 connections with others like it, and others are served meanwhile', async () => {
    const { server, port } = await listen({ idle: 60_000, total: 60_000 });
    for (let count = 0; count < 300; count++) flood(port, Buffer.alloc(1000));
    await waitUntil('the end of the oldest', () => sockets.filter(({ closed }) => closed).length === 300 - 256);
    const startedAt = performance.now();
    for (let count = 0; count < 5; count++) expect(await isServed(port)).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await server.close({ delay: 0, timeout: 5000 });
  });

  test('does not delay a stop', async () => {
    const { server, port } = await listen({ idle: 60_000, total: 60_000 });
    const closed = timeUntilClosed(flood(port, Buffer.alloc(1000)));
    await once(sockets[0] as Socket, 'connect');
    const startedAt = performance.now();
    await server.close({ delay: 0, timeout: 30_000 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    await closed;
  });
});
