import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from '@jest/globals';
import { sendBytes } from '../../src/http/send-json.ts';
import type { RequestLimits } from '../../src/request-limits.ts';
import { createHttpServer } from '../../src/server/http-server.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { exchangeBytes } from '../support/raw-http.ts';
import { patientLimits, type TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

let service: TestService;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

// After the sockets are closed, as a service waits for its connections.
const startService = useTestServices();
const start = async (environment: Record<string, string> = {}, requestLimits: Partial<RequestLimits> = {}) => {
  service = await startService(environment, { requestLimits });
};

const MIB = 1_048_576;

const port = () => Number(new URL(service.baseUrl).port);

/** A connection that does not read before `resume`. */
const open = async () => {
  const socket = connect(port(), '127.0.0.1').pause();
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
};

const header = (method: string, path: string, fields: string[] = []) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${service.token}`,
    'Content-Type: application/json',
    ...fields,
    '\r\n',
  ].join('\r\n');

const request = (method: string, path: string, body?: object, fields: string[] = []) => {
  const text = body === undefined ? '' : JSON.stringify(body);
  return header(method, path, [...fields, ...(body ? [`Content-Length: ${text.length}`] : [])]) + text;
};

const exchange = (text: string) => exchangeBytes({ port: port(), bytes: Buffer.from(text, 'latin1') });

/** Calls `note` with each request that Node.js has parsed, until it is disposed of. */
const onRequest = (note: (message: { response: object }) => void) => {
  const listener = (message: unknown) => note(message as { response: object });
  subscribe('http.server.request.start', listener);
  return { [Symbol.dispose]: () => unsubscribe('http.server.request.start', listener) };
};

const completed = () => service.log.filter(({ msg }) => msg === 'request completed').length;
const aborted = () => service.log.filter(({ msg }) => msg === 'request aborted').length;

describe('a client that pipelines', () => {
  test('cannot make the service parse many requests ahead', async () => {
    await start();
    const unlock = await lockPlants(service.database.url);
    let parsed = 0;
    using _counter = onRequest(() => {
      parsed++;
    });
    const socket = await open();
    socket.write(request('POST', '/plants', { id: 1, name: 'Fir' }) + 'GET / HTTP/1.1\r\n\r\n'.repeat(3600));
    await waitUntil('the first requests', () => parsed > 1);
    // By the time the service answers another client, it has parsed all that it read so far.
    await service.agent.get('/livez');
    expect(parsed).toBeLessThan(10);
    await unlock();
    await once(socket.resume(), 'close');
  });

  test('with HTTP/1.0 has no request processed without a response', async () => {
    await start();
    const http10 = (text: string) => text.replace('HTTP/1.1', 'HTTP/1.0');
    const keepAlive = ['Connection: keep-alive'];
    const answers = await exchange(
      http10(request('POST', '/plants', { id: 1, name: 'Fir' }, keepAlive)) +
        http10(request('POST', '/plants', { id: 2, name: 'Yew' }, keepAlive)) +
        http10(request('DELETE', '/plants/1', undefined, keepAlive)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(await service.database.query('SELECT id FROM plants')).toEqual([{ id: '1' }]);
  });
});

describe('a client that does not read', () => {
  /** More than the buffers of the system have room for. */
  const LARGE = { BODY_LIMIT: String(4 * MIB) };
  const name = 'x'.repeat(4 * MIB - 100);

  test('is disconnected', async () => {
    await start({ REQUEST_TIMEOUT: '2' }, patientLimits);
    // Twice what Linux sends at most before its reader takes any (tcp_wmem).
    await service.database.query("INSERT INTO plants (id, name) VALUES (1, repeat('x', 8388608))");
    const socket = await open();
    socket.write(request('GET', '/plants/1'));
    await waitUntil('the end of its response', () => aborted() > 0);
    socket.resume();
    await once(socket, 'close');
  });

  test('blocks other clients only for a short time, even without a token', async () => {
    await start({ REQUEST_TIMEOUT: '3', MAX_CONNECTIONS: '5' });
    for (let count = 0; count < 5; count++) {
      const socket = await open();
      socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(60));
    }
    await waitUntil(
      'a free connection',
      async () => (await fetch(`${service.baseUrl}/livez`).catch(() => undefined))?.status === 200,
    );
  });

  test('is not disconnected while it reads slowly', async () => {
    const TOTAL = 32 * MIB;
    const handler = (_request: unknown, response: ServerResponse) => sendBytes(response, Buffer.alloc(TOTAL));
    const server = createHttpServer({ handler, requestTimeout: 1000 });
    const socket = connect(await server.listen('127.0.0.1', 0), '127.0.0.1');
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const startedAt = performance.now();
    let received = 0;
    for await (const { length } of socket) {
      received += length;
      // In 6 s, but never as slowly as a client that reads nothing.
      while (received < TOTAL && (performance.now() - startedAt) / 6000 < received / TOTAL) await setTimeout(10);
    }
    expect(received).toBeGreaterThan(TOTAL);
    await server.close({ delay: 0, timeout: 5000 });
  });

  test('is disconnected if too many bytes wait for clients', async () => {
    await start({ ...LARGE, REQUEST_TIMEOUT: '60' });
    await service.post({ id: 1, name });
    for (let count = 0; count < 20; count++) (await open()).write(request('GET', '/plants/1'));
    await waitUntil('the end of a response', () => aborted() > 0);
    expect((await service.request('get', '/plants/1')).status).toBe(200);
  });

  test('is disconnected if too many bytes of plants that were stored wait for clients', async () => {
    await start({ ...LARGE, REQUEST_TIMEOUT: '60' });
    // Without the names, which would take long to read.
    const count = async () => (await service.database.query('SELECT count(*) FROM plants'))[0]?.count;
    for (let id = 1; id <= 20; id++) {
      (await open()).write(request('POST', '/plants', { id, name }));
      await waitUntil('the plant', async () => (await count()) === String(id));
    }
    await waitUntil('the end of a response', () => aborted() > 0);
  });
});

describe('uploads', () => {
  /** Room for two stalled uploads. */
  const FEW = { heldBytes: 2.3 * MIB };
  /** A client that sends the start of a large body. */
  const stall = async () => {
    const before = service.inUse().bodyBytes;
    const socket = await open();
    socket.write(`${header('POST', '/plants', [`Content-Length: ${MIB}`])}{${' '.repeat(5000)}`);
    await waitUntil('its bytes', () => service.inUse().bodyBytes > before || dropped() > 0);
    return socket;
  };
  const dropped = () => service.log.filter(({ error }) => error === 1500).length;

  test('that stall are dropped for others, the oldest first, and get code 1500', async () => {
    await start({ REQUEST_TIMEOUT: '30' }, FEW);
    const stalled = [await stall(), await stall()];
    const answers = stalled.map(async (socket) => String((await once(socket, 'data'))[0]));
    for (const socket of stalled) socket.resume();
    const other = await service.post({ id: 1, name: 'x'.repeat(400_000) });
    expect(other.status).toBe(200);
    expect(await answers[0]).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1\r\n.*"error":1500/s);
  });

  test('of small plants are not dropped for stalled uploads', async () => {
    await start({ REQUEST_TIMEOUT: '30' }, FEW);
    for (let count = 0; count < 20; count++) await stall();
    expect((await service.post({ id: 1, name: 'Fir' })).status).toBe(200);
    expect(service.log.some(({ error, plant }) => error === 1500 && plant !== undefined)).toBe(false);
  });

  test('in chunks count, too', async () => {
    await start({ REQUEST_TIMEOUT: '30' }, { heldBytes: 1.5 * MIB });
    const stalled = (await stall()).resume();
    const answer = once(stalled, 'data');
    const text = JSON.stringify({ id: 1, name: 'x'.repeat(300_000) });
    const chunk = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const fields = ['Transfer-Encoding: chunked', 'Connection: close'];
    const [other] = await exchange(header('POST', '/plants', fields) + chunk);
    expect(other?.status).toBe(200);
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 503 /);
  });

  test('that are refused or aborted free their bytes', async () => {
    await start({ REQUEST_TIMEOUT: '30' }, FEW);
    for (let count = 0; count < 3; count++) await stall();
    await waitUntil('a refusal', () => dropped() > 0);
    const posts = Array.from({ length: 200 }, (_, id) => service.post({ id, name: 'x'.repeat(20_000) }));
    for (const { status } of await Promise.all(posts)) expect([200, 503]).toContain(status);
    for (let count = 0; count < 50; count++) (await stall()).destroy();
    await waitUntil('their end', () => service.inUse().bodyBytes === 0);
    expect((await service.post({ id: 1000, name: 'x'.repeat(100_000) })).status).toBe(200);
  });

  test('that stall after their response do not get a second one', async () => {
    await start({ REQUEST_TIMEOUT: '3' });
    const head = header('POST', '/plants', ['Content-Length: 50000']).replace(service.token, 'x');
    const answers = await exchange(head);
    expect(answers.map(({ status }) => status)).toEqual([401]);
  });

  test('in too many chunks are refused', async () => {
    await start();
    const answers = await exchange(
      `${header('POST', '/plants', ['Transfer-Encoding: chunked'])}${'1\r\n \r\n'.repeat(1001)}`,
    );
    expect(answers).toMatchObject([{ status: 400, body: expect.stringContaining('"error":1002') }]);
  });

  test('in small and large chunks arrive complete', async () => {
    await start();
    const name = Array.from({ length: 60_000 }, (_, index) => index % 10).join('');
    const text = JSON.stringify({ id: 1, name });
    const sizes = [1, 1, 2, 3, 1023, 1024, 1025, 5000, 1, 4096, 30_000, 7];
    const pieces: string[] = [];
    for (let at = 0, turn = 0; at < text.length; turn++) {
      const piece = text.slice(at, at + (sizes[turn % sizes.length] as number));
      pieces.push(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      at += piece.length;
    }
    const fields = ['Transfer-Encoding: chunked', 'Connection: close'];
    const answers = await exchange(`${header('POST', '/plants', fields)}${pieces.join('')}0\r\n\r\n`);
    expect(answers[0]?.status).toBe(200);
    expect(await service.stored(1n)).toMatchObject({ name });
  });
});

test('an open connection keeps no memory of its past requests', async () => {
  await start();
  const responses: WeakRef<object>[] = [];
  using _notes = onRequest(({ response }) => void responses.push(new WeakRef(response)));
  const socket = await open();
  socket.resume();
  socket.write(request('POST', '/plants', { id: 1, name: 'Fir' }));
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  await waitUntil('the release of the response', () => {
    collectGarbage();
    return responses.length > 0 && responses.every((response) => response.deref() === undefined);
  });
  expect(socket.destroyed).toBe(false);
});

describe('a service that stops', () => {
  test('sends a complete response to a client that reads slowly', async () => {
    await start({ BODY_LIMIT: String(4 * MIB), REQUEST_TIMEOUT: '60' });
    expect((await service.post({ id: 1, name: 'x'.repeat(4 * MIB - 100) })).status).toBe(200);
    const before = completed();
    const socket = await open();
    socket.write(request('GET', '/plants/1'));
    // A part of the response waits in the service, since the client does not read.
    await waitUntil('the response', () => service.inUse().responseBytes > 0);
    const stopped = service.stopServer();
    let received = 0;
    for await (const { length } of socket) {
      received += length;
      await setTimeout(1);
    }
    await stopped;
    expect(received).toBeGreaterThan(4 * MIB);
    expect([completed() - before, aborted()]).toEqual([1, 0]);
  });
});
