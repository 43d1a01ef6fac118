import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { useRawConnections } from '../support/raw-connections.ts';
import { exchangeBytes } from '../support/raw-http.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const service = useTestService({ METRICS_PORT: '0' });
const open = useRawConnections(service);
let unlock = async () => {};
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  service.log.splice(0);
});
afterEach(async () => {
  await unlock();
  unlock = async () => {};
});

const port = () => Number(new URL(service.baseUrl).port);
const readAll = async (socket: Socket) => {
  let text = '';
  for await (const piece of socket.setEncoding('latin1')) text += piece;
  return text;
};
const exchange = (text: string) => exchangeBytes({ port: port(), bytes: Buffer.from(text) });

const request = (method: string, path: string, body = '', version = 'HTTP/1.1', extra = '') =>
  `${method} ${path} ${version}\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n` +
  `${extra}${body ? `Content-Length: ${body.length}\r\n` : ''}\r\n${body}`;
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const post = (id: number) => request('POST', '/plants', `{"id":${id},"name":"Fir"}`);
const storedIds = async () => (await service.database.query('SELECT id FROM plants ORDER BY id')).map(({ id }) => id);
const logged = () => service.log.filter(({ msg }) => msg.startsWith('a request came before the previous response'));
const counted = async () => (await service.metrics()).value('plant_store_http_early_requests_total') ?? Number.NaN;
const lock = async () => {
  unlock = await lockPlants(service.database.url);
};
const aborted = () =>
  waitUntil('the end of the request', () => service.log.some(({ msg }) => msg === 'request aborted'));

describe('a request that comes before the response to the one before it is not carried out', () => {
  test.each<[string, () => string]>([
    ['another change', () => post(2)],
    ['many', () => post(2).repeat(300)],
    ['one without a token', () => 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['one with a large body', () => request('POST', '/plants', `{"id":2,"name":"${'x'.repeat(1_000_000)}"}`)],
    ['the start of one', () => post(2).slice(0, -5)],
    ['one of HTTP/1.0', () => request('POST', '/plants', '{"id":2,"name":"Fir"}', 'HTTP/1.0')],
    ['no HTTP', () => 'garbage\r\n\r\n'],
    ['no HTTP, and more', () => `garbage\r\n\r\n${post(2)}`],
  ])('%s: the connection closes behind the response, and that is counted and logged once', async (_title, next) => {
    const before = await counted();
    expect(await exchange(post(1) + next())).toMatchObject([
      { status: 200, head: expect.stringMatching(/^connection: close$/im) },
    ]);
    expect(await storedIds()).toEqual(['1']);
    expect(await counted()).toBe(before + 1);
    expect(logged()).toMatchObject([{ level: 'info', client: '127.0.0.1' }]);
  });

  test('behind a response that waits for the database', async () => {
    await lock();
    const socket = await open(request('GET', '/plants/1'));
    await waitForBlocked(service.database, 'FROM plants');
    socket.write(post(2));
    await waitUntil('the second request', () => logged().length === 1);
    await unlock();
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\nConnection: close\r\n/);
    expect(await storedIds()).toEqual([]);
  });

  // Node.js itself drops what follows such a request in the same read: the next one would never get a response.
  test.each<[string, () => string]>([
    ['a change', () => post(2)],
    ['many more of them', () => request('GET', '/plants/1', '', 'HTTP/1.1', UPGRADE).repeat(99)],
    ['no HTTP', () => 'garbage\r\n\r\n'],
    ['a byte that is no HTTP', () => '\0'],
    ['an unknown version', () => 'GET / HTTP/9.9\r\n\r\n'],
  ])('behind a request with Upgrade, with and without a body: %s', async (_title, next) => {
    const withBody = request('POST', '/plants', '{"id":1,"name":"Fir"}', 'HTTP/1.1', UPGRADE);
    for (const first of [withBody, request('GET', '/plants/1', '', 'HTTP/1.1', UPGRADE)]) {
      expect(await exchange(first + next())).toMatchObject([
        { status: 200, head: expect.stringMatching(/^connection: close$/im) },
      ]);
    }
    expect([await storedIds(), logged().length]).toEqual([['1'], 2]);
  });

  test('what is no HTTP after the response to a request with Upgrade has a response as well', async () => {
    const socket = await open(request('GET', '/plants/1', '', 'HTTP/1.1', UPGRADE));
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 404 /);
    socket.write('garbage');
    socket.write('\r\n\r\n');
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  // llhttp then says that it took some other number of bytes, also a negative one.
  test.each(['GET', 'POST'])(
    'the preface of HTTP/2 after a %s with Upgrade ends the connection, and nothing else',
    async (method) => {
      for (let times = 0; times < 20; times++) {
        const socket = await open(
          `${request(method, '/plants', '{}', 'HTTP/1.1', UPGRADE)}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
        );
        await new Promise((resolve) => setTimeout(resolve, 5));
        socket.write('\n');
        expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 [24]00 /);
      }
    },
  );

  test('behind a response that is sent at once', async () => {
    const answers = await exchange(`GET /livez HTTP/1.1\r\nHost: x\r\n\r\n${post(2)}`);
    expect(answers).toMatchObject([{ status: 200, body: '{"status":"live"}' }]);
    expect(await storedIds()).toEqual([]);
  });

  test('behind an export, which is sent to its end', async () => {
    await service.database.query(
      "INSERT INTO plants (id, name) SELECT id, repeat('x', 10000) FROM generate_series(1, 2000) AS id",
    );
    const socket = (await open(request('GET', '/plants/export'))).pause();
    await once(socket, 'readable');
    socket.write(request('DELETE', '/plants/1'));
    await waitUntil('the second request', () => logged().length === 1);
    const text = await readAll(socket);
    expect(text.match(/"id":/g)).toHaveLength(2000);
    expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true);
    expect(await storedIds()).toHaveLength(2000);
  });

  test.each(['', UPGRADE])(
    'but one that comes after the response is, also if the body of the one before it came after its response (%j)',
    async (extra) => {
      const socket = await open(request('PUT', '/plants', '', 'HTTP/1.1', `${extra}Content-Length: 1000\r\n`));
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 405 /);
      socket.write(`${'x'.repeat(1000)}${post(1)}`);
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
      socket.write(post(2));
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
      expect([await storedIds(), logged()]).toEqual([['1', '2'], []]);
    },
  );
});

describe('a client that ends its side is gone', () => {
  test.each(['end', 'destroy', 'resetAndDestroy'] as const)('while it waits for a response (%s)', async (leave) => {
    await lock();
    const socket = await open(request('GET', '/plants/1'));
    await waitForBlocked(service.database, 'FROM plants');
    socket[leave]();
    await aborted();
    if (leave === 'end') expect(await readAll(socket)).toBe('');
  });

  test('within a body, whose plant is not stored', async () => {
    const socket = await open(post(1).slice(0, -1));
    socket.end();
    expect(await readAll(socket)).toBe('');
    await aborted();
    expect(await storedIds()).toEqual([]);
  });

  test('while its export is sent, whose slot is then free', async () => {
    await service.database.query(
      "INSERT INTO plants (id, name) SELECT id, repeat('x', 10000) FROM generate_series(1, 2000) AS id",
    );
    const socket = (await open(request('GET', '/plants/export'))).pause();
    await once(socket, 'readable');
    socket.end();
    expect((await readAll(socket)).endsWith('0\r\n\r\n')).toBe(false);
    await waitUntil('a free slot', () => service.inUse().exports === 0);
  });

  test('behind a request that came too early', async () => {
    await lock();
    const socket = await open(request('GET', '/plants/1') + post(2));
    await waitForBlocked(service.database, 'FROM plants');
    socket.end();
    await aborted();
  });

  test('on a connection without a request, which is closed at once', async () => {
    const socket = await open('');
    socket.end();
    expect(await readAll(socket)).toBe('');
  });
});

describe('a broken body ends its request like a disconnect, with an Error while that is possible', () => {
  const broken = (path: string, type: string, start: string) =>
    request('POST', path, '', 'HTTP/1.1', 'Transfer-Encoding: chunked\r\n').replace('application/json', type) +
    `${start.length.toString(16)}\r\n${start}\r\n`;
  const rows = Array.from({ length: 4100 }, (_, id) => `{"id":${id},"name":"Fir"}\n`).join('');

  test('of a plant', async () => {
    const [answer] = await exchange(`${broken('/plants', 'application/json', '{"id":1,"name":"Fir"}')}nonsense\r\n`);
    expect(answer).toMatchObject({ status: 400, head: expect.stringMatching(/^connection: close$/im) });
    expect(JSON.parse(answer?.body ?? '')).toEqual({ error: 1006, message: 'The body is not valid HTTP/1.1.' });
    expect(await storedIds()).toEqual([]);
    await waitUntil('its line', () => service.log.length > 0);
    expect(service.log).toMatchObject([{ msg: 'request completed', path: '/plants', status: 400, error: 1006 }]);
  });

  test.each(['nonsense\r\n', '?\r\n'.repeat(50_000)])('of an import: %#', async (bytes) => {
    const socket = await open(broken('/plants/import', 'application/x-ndjson', rows));
    await waitUntil('the import', () => service.inUse().imports === 1);
    socket.write(bytes);
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error":1006/);
    await waitUntil('its end', () => service.inUse().imports === 0);
    expect(service.log).toContainEqual(expect.objectContaining({ outcome: 'interrupted' }));
    expect(await storedIds()).toEqual([]);
  });

  test.each(['5\r\n{', ''])('of an import whose client ends its side: %j', async (bytes) => {
    const socket = await open(broken('/plants/import', 'application/x-ndjson', rows));
    await waitUntil('the import', () => service.inUse().imports === 1);
    socket.end(bytes);
    expect(await readAll(socket)).toBe('');
    await waitUntil('its end', () => service.inUse().imports === 0);
    expect(service.log).toContainEqual(expect.objectContaining({ outcome: 'interrupted' }));
    expect(await storedIds()).toEqual([]);
  });
});
