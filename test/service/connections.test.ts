import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createHttpServer } from '../../src/server/http-server.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { patientLookUps, type TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
let service: TestService;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const open = async (text = '') => {
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
};

const send = async (socket: Socket, text: string) => {
  socket.write(text);
  const [answer] = await once(socket, 'data');
  return String(answer);
};

const READY = 'GET /readyz HTTP/1.1\r\nHost: store\r\n\r\n';
const OK = /^HTTP\/1\.1 200 /;
/** Opens a connection and sends a request on it. */
const openUsed = async () => {
  const socket = await open();
  expect(await send(socket, READY)).toMatch(OK);
  return socket;
};

describe('once MAX_CONNECTIONS are open', () => {
  const MAX = 4;
  /** @param metrics where they are served */
  const startFull = async () => {
    service = await start({ MAX_CONNECTIONS: String(MAX), METRICS_PORT: '0' });
  };
  const counted = async () => {
    const { value } = await service.metrics();
    const names = ['connections', 'connections_limit', 'refused_connections_total'];
    return names.map((name) => value(`plant_store_http_${name}`));
  };
  const warnings = () =>
    service.log.filter(({ msg }) => msg.startsWith('the maximum number of connections is reached'));
  const read = () => `GET /plants/1 HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${service.token}\r\n\r\n`;
  const closedOf = (list: Socket[]) => list.map(({ closed }) => closed);

  test('those that never sent a complete request make room for new ones, the oldest first', async () => {
    await startFull();
    const used = await openUsed();
    const fresh = [await open(), await open('GET /readyz HTTP/1.1\r\nHost'), await open()];
    // Accepted, which may be later than they see, and then given their time to send a request.
    await waitUntil('their places', async () => (await counted())[0] === MAX);
    await setTimeout(200);
    // Used again, though longer open than the others.
    for (const _ of fresh) expect(await send(await open(), READY)).toMatch(OK);
    await waitUntil('their end', () => fresh.every(({ closed }) => closed));
    expect(used.closed).toBe(false);
    expect(await counted()).toEqual([MAX, MAX, 0]);
    expect(warnings()).toHaveLength(1);
  });

  test('but not those that come at once: idle ones make room for each of them', async () => {
    await startFull();
    for (let count = 0; count < MAX; count++) await openUsed();
    const answers = await Promise.all(Array.from({ length: MAX }, async () => send(await open(), READY)));
    for (const answer of answers) expect(answer).toMatch(OK);
  });

  test('then those that have been idle longest', async () => {
    await startFull();
    const used = [await openUsed(), await openUsed(), await openUsed(), await openUsed()] as const;
    // The first is now the last that was idle.
    expect(await send(used[0], READY)).toMatch(OK);
    const later = [await openUsed(), await openUsed()];
    await waitUntil('the end of two', () => used.filter(({ closed }) => closed).length === 2);
    expect(closedOf([...used, ...later])).toEqual([false, true, true, false, false, false]);
  });

  test('but none whose request is in progress: new ones are then closed at once, counted, and logged once a minute', async () => {
    await startFull();
    const unlock = await lockPlants(service.database.url);
    const busy: Socket[] = [];
    for (let count = 0; count < MAX; count++) busy.push(await open(read()));
    await waitUntil('the requests', () => service.inUse().requests === MAX);
    await waitUntil('their statements', async () => (await blockedStatements(service.database)).length > 0);
    for (let count = 0; count < 3; count++) await once((await open()).resume(), 'close');
    expect(closedOf(busy)).toEqual(busy.map(() => false));
    expect(await counted()).toEqual([MAX, MAX, 3]);
    for (const path of ['/livez', '/readyz'])
      expect((await fetch(service.metricsUrl().replace('/metrics', path))).status).toBe(200);
    expect(warnings()).toMatchObject([{ level: 'warn', maxConnections: MAX, refused: 1 }]);
    const answers = busy.map((socket) => once(socket, 'data'));
    await unlock();
    for (const [answer] of await Promise.all(answers)) expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    expect(await send(await open(), READY)).toMatch(OK);
  });

  test('a client that reads nothing of its response holds up others no longer', async () => {
    await startFull();
    const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: store\r\n\r\n';
    for (let count = 0; count < MAX; count++) (await open(page)).pause();
    await waitUntil(
      'a place',
      async () => (await fetch(`${service.baseUrl}/livez`).catch(() => undefined))?.ok === true,
    );
  });
});

describe('a connection whose request has its response before all of its body', () => {
  const BEFORE_BODY = READY.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n');

  test('is closed if the rest does not come within REQUEST_TIMEOUT, although others may be idle for longer', async () => {
    service = await start({ REQUEST_TIMEOUT: '1' }, { requestLimits: patientLookUps });
    const idle = await openUsed();
    const whole = await open();
    expect(await send(whole, BEFORE_BODY)).toMatch(OK);
    whole.write('0\r\n\r\n');
    const socket = await open();
    expect(await send(socket, BEFORE_BODY)).toMatch(OK);
    const dripping = await open();
    expect(await send(dripping, BEFORE_BODY)).toMatch(OK);
    const drip = setInterval(() => dripping.write('1\r\nx\r\n'), 100);
    await waitUntil('their end', () => socket.closed && dripping.closed).finally(() => clearInterval(drip));
    for (const other of [idle, whole]) expect(await send(other, READY)).toMatch(OK);
  });

  test('keeps no header of its request', async () => {
    service = await start();
    const requests: IncomingMessage[] = [];
    const note = (message: unknown) => void requests.push((message as { request: IncomingMessage }).request);
    subscribe('http.server.request.start', note);
    const socket = await open();
    const withHeader = BEFORE_BODY.replace('store', `store\r\nX-Large: ${'x'.repeat(8000)}`);
    const answer = await send(socket, withHeader).finally(() => unsubscribe('http.server.request.start', note));
    expect(answer).toMatch(OK);
    await waitUntil(
      'an empty header',
      () => requests.length > 0 && requests.every(({ rawHeaders }) => rawHeaders.length === 0),
    );
    expect(socket.closed).toBe(false);
  });

  test('is read on, so that a client that writes first gets a response larger than the buffers of the system', async () => {
    const size = 32 * 1_048_576;
    const server = createHttpServer({
      handler: (_request, response) => void response.setHeader('Connection', 'close').end(Buffer.alloc(size)),
      requestTimeout: 10_000,
    });
    const socket = connect(await server.listen('127.0.0.1', 0), '127.0.0.1');
    sockets.push(socket);
    await using _server = { [Symbol.asyncDispose]: () => server.close({ delay: 0, timeout: 0 }) };
    const head = Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`);
    const written = Promise.withResolvers<unknown>();
    socket.pause().write(Buffer.concat([head, Buffer.alloc(size)]), written.resolve);
    await Promise.race([written.promise, once(socket, 'close').then(() => Promise.reject(new Error('closed')))]);
    let received = 0;
    socket.on('data', ({ length }) => {
      received += length;
    });
    await once(socket.resume(), 'end');
    expect(received).toBeGreaterThan(size);
  });

  test('gets no second response if the rest is not valid, and is closed', async () => {
    service = await start();
    const socket = await open();
    expect(await send(socket, BEFORE_BODY)).toMatch(OK);
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.write('no chunk\r\n');
    await waitUntil('its end', () => socket.closed);
    expect(text).toBe('');
  });
});

test('a client that ends its side gets the rest of a response that is complete', async () => {
  service = await start();
  const length = 8_000_000;
  await service.database.query(`INSERT INTO plants VALUES (1, repeat('x', ${length}))`);
  const socket = connect({ port: Number(new URL(service.baseUrl).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.write(`GET /plants/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
  let received = (await once(socket, 'data'))[0].length;
  socket.pause().end();
  await setTimeout(300);
  for await (const piece of socket) received += piece.length;
  expect(received).toBeGreaterThan(length);
});

test('a connection that is reset is noticed, also while the body of its request is not wanted yet', async () => {
  const [begun, closed] = [Promise.withResolvers<IncomingMessage>(), Promise.withResolvers<void>()];
  const server = createHttpServer({
    handler: (request, response) => {
      response.once('close', closed.resolve);
      begun.resolve(request);
    },
    requestTimeout: 60_000,
    checkInterval: 50,
  });
  const socket = connect(await server.listen('127.0.0.1', 0), '127.0.0.1');
  sockets.push(socket);
  await using _server = { [Symbol.asyncDispose]: () => server.close({ delay: 0, timeout: 0 }) };
  const head = Buffer.from('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n');
  // More than the service reads ahead.
  socket.write(Buffer.concat([head, Buffer.alloc(500_000)]));
  const { socket: accepted } = await begun.promise;
  await waitUntil('a full buffer', () => accepted.readableLength >= accepted.readableHighWaterMark);
  socket.resetAndDestroy();
  await closed.promise;
});

test('a connection that waits for its next request is closed after KEEP_ALIVE_TIMEOUT', async () => {
  service = await start({ KEEP_ALIVE_TIMEOUT: '1s' });
  const sentAt = performance.now();
  const socket = await openUsed();
  await waitUntil('its end', () => socket.closed);
  // A timer may fire some milliseconds early.
  expect(performance.now() - sentAt).toBeGreaterThan(900);
});

test.each(['/livez', '/plants/1', '/plants/2'])('a client of HTTP/1.0 can keep its connection: %s', async (path) => {
  service = await start();
  await service.post({ id: 1, name: 'Fir' });
  const authorization = `Authorization: Bearer ${service.token}`;
  const socket = await open();
  for (let count = 0; count < 2; count++) {
    const text = await send(
      socket,
      `GET ${path} HTTP/1.0\r\nHost: x\r\n${authorization}\r\nConnection: keep-alive\r\n\r\n`,
    );
    expect(text).toMatch(/\r\nContent-Length: \d+\r\n.*Connection: keep-alive\r\n/s);
  }
});

test('idle connections stay open longer than those of load balancers', async () => {
  service = await start();
  expect(await send(await open(), 'GET /livez HTTP/1.1\r\nHost: store\r\n\r\n')).toMatch(
    /\r\nKeep-Alive: timeout=75\r\n/,
  );
});

test('a response in progress closes its connection if the service begins to stop, also within SHUTDOWN_DELAY', async () => {
  service = await start({ SHUTDOWN_DELAY: '1' });
  const unlock = await lockPlants(service.database.url);
  const socket = await open(`GET /plants/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
  await waitForBlocked(service.database).catch(unlock);
  const stopped = service.stopServer();
  await unlock();
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 404 .*\r\nConnection: close\r\n/s);
  await stopped;
});

test('a request in progress is not cut off before the delay of a stop has passed', async () => {
  const { promise: responding, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createHttpServer({ handler: (_request, response) => resolve(response), requestTimeout: 10_000 });
  const answer = fetch(`http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`);
  const response = await responding;
  const timeout = 1;
  const stopped = server.close({ delay: 3000, timeout });
  const later = performance.now() + 20 * timeout;
  await waitUntil('the timeout to pass', () => performance.now() > later);
  response.end('late');
  expect(await (await answer).text()).toBe('late');
  await stopped;
});

test('a service that stops accepts requests for SHUTDOWN_DELAY and reports that it is not ready', async () => {
  service = await start({ SHUTDOWN_DELAY: '3' });
  const idle = await openUsed();
  const stopped = service.stopServer();
  const ready = await service.agent.get('/readyz');
  expect([ready.status, ready.body]).toEqual([
    503,
    { error: 1504, message: 'The service is stopping. Send requests to another instance.' },
  ]);
  const post = await service.post({ id: 1, name: 'Fir' });
  expect([post.status, post.headers.connection]).toEqual([200, 'close']);
  expect(await service.stored(1n)).toBeDefined();
  // A connection that was idle gets an answer, too, which asks the client to close it.
  expect(await send(idle, READY)).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s);
  await stopped;
  await expect(fetch(`${service.baseUrl}/livez`)).rejects.toThrow('fetch failed');
});
