import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../../support/lock-plants.ts';
import { waitForBlocked } from '../../support/lock-table.ts';
import { exchangeBytes } from '../../support/raw-http.ts';
import { useTestService, useTestServices } from '../../support/use-test-service.ts';

const service = useTestService({}, { requestLimits: { linger: { idle: 1000, total: 1000 } } });
const start = useTestServices();
beforeEach(() => service.database.query('TRUNCATE plants'));

/** A request that stores a plant, with the lines `extra` in its header and the bytes `body` for a body. */
const post = (id: number, extra = '', body?: string) => {
  const plant = `{"id":${id},"name":"Fir"}`;
  const length = body === undefined ? `Content-Length: ${plant.length}\r\n` : '';
  const right = `Host: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n`;
  return `POST /plants HTTP/1.1\r\n${right}${extra}${length}\r\n${body ?? plant}`;
};

const port = () => Number(new URL(service.baseUrl).port);
const send = (bytes: string) => exchangeBytes({ port: port(), bytes: Buffer.from(bytes, 'latin1') });

const storedIds = async () => (await service.database.query('SELECT id FROM plants ORDER BY id')).map(({ id }) => id);

const plant = '{"id":1,"name":"Fir"}';
const size = plant.length.toString(16);
const chunks = `${size}\r\n${plant}\r\n0\r\n\r\n`;
const length = `Content-Length: ${plant.length}\r\n`;
const chunked = (body: string) => post(1, 'Transfer-Encoding: chunked\r\n', body);

describe('ambiguous or invalid requests: 400, the connection is closed, and neither this request nor the next one stores a plant', () => {
  test.each([
    ['two lengths that differ', () => post(1, 'Content-Length: 2\r\n')],
    ['two lengths that are the same', () => post(1, length)],
    ['a list of lengths', () => post(1, 'Content-Length: 21, 21\r\n', plant)],
    ['a length with a sign', () => post(1, 'Content-Length: +21\r\n', plant)],
    ['a negative length', () => post(1, 'Content-Length: -1\r\n', plant)],
    ['a length in hexadecimal', () => post(1, 'Content-Length: 0x15\r\n', plant)],
    ['a length beyond 64 bits', () => post(1, 'Content-Length: 18446744073709551637\r\n', plant)],
    ['a length and chunks', () => post(1, `${length}Transfer-Encoding: chunked\r\n`, chunks)],
    ['chunks and a length', () => post(1, `Transfer-Encoding: chunked\r\n${length}`, chunks)],
    ['Transfer-Encoding: xchunked', () => post(1, 'Transfer-Encoding: xchunked\r\n', chunks)],
    ['Transfer-Encoding: chunked, identity', () => post(1, 'Transfer-Encoding: chunked, identity\r\n', chunks)],
    ['Transfer-Encoding: identity', () => post(1, 'Transfer-Encoding: identity\r\n', plant)],
    ['Transfer-Encoding: identity with a length', () => post(1, 'Transfer-Encoding: identity\r\n')],
    ['Transfer-Encoding: chunked, chunked', () => post(1, 'Transfer-Encoding: chunked, chunked\r\n', chunks)],
    ...[
      'gzip, chunked',
      'gzip,chunked',
      ' GZIP ,\tChunked ',
      'x, chunked',
      'identity, chunked',
      ', chunked',
      'chunked, gzip',
      'chunked;a=b',
      'gzip\r\nTransfer-Encoding: chunked',
      'gzip\r\ntransfer-encoding:CHUNKED',
      'chunked\r\nTransfer-Encoding: chunked',
    ].map((value): [string, () => string] => [
      `Transfer-Encoding: ${value}`,
      () => post(1, `Transfer-Encoding: ${value}\r\n`, chunks),
    ]),
    ['Transfer-Encoding in HTTP/1.0', () => chunked(chunks).replace('HTTP/1.1', 'HTTP/1.0')],
    ['HTTP/2.0', () => post(1).replace('HTTP/1.1', 'HTTP/2.0')],
    ['HTTP/0.9', () => post(1).replace('HTTP/1.1', 'HTTP/0.9')],
    ['a fragment', () => post(1).replace('/plants', '/plants#')],
    ['an absolute target with user information', () => post(1).replace('/plants', 'http://u:p@x/plants')],
    ['Transfer-Encoding twice', () => post(1, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', chunks)],
    ['a space before the colon', () => post(1, 'Transfer-Encoding : chunked\r\n', chunks)],
    ['a space before the colon of a length', () => post(1, 'Content-Length : 21\r\n', plant)],
    ['obsolete folding', () => post(1, 'X-A: 1\r\n Transfer-Encoding: chunked\r\n')],
    ['a folded length', () => post(1, 'Content-Length:\r\n 21\r\n', plant)],
    ['a header field without a colon', () => post(1, 'X-A\r\n')],
    ['a header field without a name', () => post(1, ': 1\r\n')],
    ['NUL in a name', () => post(1, 'X-\0A: 1\r\n')],
    ['NUL in a value', () => post(1, 'X-A: \0\r\n')],
    ['a non-ASCII letter in a name', () => post(1, 'X-\xc3\xa9: 1\r\n')],
    ['a header line that ends with only LF', () => post(1, 'X-A: 1\nX-B: 2\r\n')],
    ['a header line that ends with only CR', () => post(1, 'X-A: 1\rX-B: 2\r\n')],
    ['a second Host', () => post(1, 'Host: y\r\n')],
    ['a Host with more than a host', () => post(1).replace('Host: x', 'Host: a b/c?d@e')],
    ['a Host with an invalid port', () => post(1).replace('Host: x', 'Host: x:y')],
    ['a second Authorization', () => post(1, 'Authorization: Bearer x\r\n')],
    [
      'a second Authorization of HTTP/1.0',
      () => post(1, 'Authorization: Bearer x\r\n').replace('HTTP/1.1', 'HTTP/1.0').replace('Host: x\r\n', ''),
    ],
    ['a second Content-Type', () => post(1, 'content-type: application/json\r\n')],
    ['no Host', () => post(1).replace('Host: x\r\n', '')],
    ['a chunk size beyond 64 bits', () => chunked(`1${'0'.repeat(16)}${size}\r\n${plant}\r\n0\r\n\r\n`)],
    ['a negative chunk size', () => chunked(`-${size}\r\n${plant}\r\n0\r\n\r\n`)],
    ['a chunk size with 0x', () => chunked(`0x${size}\r\n${plant}\r\n0\r\n\r\n`)],
    ['a chunk size with a space before it', () => chunked(` ${size}\r\n${plant}\r\n0\r\n\r\n`)],
    ['a chunk size that ends with only LF', () => chunked(`${size}\n${plant}\r\n0\r\n\r\n`)],
    ['a chunk that is longer than its size', () => chunked(`5\r\n${plant}\r\n0\r\n\r\n`)],
    ['a chunk without an end', () => chunked(`${size}\r\n${plant}0\r\n\r\n`)],
    ['a trailer without a colon', () => chunked(`${size}\r\n${plant}\r\n0\r\nX\r\n\r\n`)],
    ['an invalid method', () => post(1).replace('POST', 'PO\tST')],
    ['a lower-case method', () => post(1).replace('POST', 'post')],
    ['an extra space in the request line', () => post(1).replace('/plants HTTP', '/plants x HTTP')],
    ['an invalid version', () => post(1).replace('HTTP/1.1', 'HTTP/1.1x')],
    ['HTTP/2 with prior knowledge', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a target with a NUL', () => post(1).replace('/plants', '/plants\0')],
    ['a target that is not a path', () => post(1).replace('/plants', 'plants')],
    ['an absolute target without a host', () => post(1).replace('/plants', 'http://')],
    ['an absolute target with only user information', () => post(1).replace('/plants', 'http://@/plants')],
    ['an absolute target with a port beyond 65535', () => post(1).replace('/plants', 'http://x:65536/plants')],
    ['an absolute target with an invalid address', () => post(1).replace('/plants', 'http://256.1.1.1/plants')],
  ])('%s', async (_title, request) => {
    const answers = await send(request() + post(2));
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(answers[0]?.head).toMatch(/^connection: close$/im);
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({ error: 1006, message: expect.any(String) });
    expect(await storedIds()).toEqual([]);
  });
});

test.each(['http://x/plants', 'HTTPS://[::1]:80/plants', 'http://x/plants?a=http://y'])(
  'the target %s is accepted',
  async (target) => {
    const answers = await send(post(1, 'Connection: close\r\n').replace('/plants', target));
    expect(answers.map(({ status }) => status)).toEqual([200]);
  },
);

test.each(['http://x', 'http://x?a=b'])('the target %s is that of /', async (target) => {
  const [answer] = await send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ plants: '/plants' });
});

test.each(['x', 'x:80', '[::1]:3000', 'xn--bcher-kva.example', ''])('the Host %j is accepted', async (host) => {
  const answers = await send(post(1, 'Connection: close\r\n').replace('Host: x', `Host: ${host}`));
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

test('a method that Node.js does not know gets code 1202', async () => {
  for (const request of ['FOO /plants HTTP/1.1\r\nHost: x\r\n\r\n', 'BREW /x HTTP/1.0\r\n\r\n']) {
    const [answer] = await send(request);
    expect(answer?.status).toBe(405);
    expect(answer?.head).toMatch(/^allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS$/im);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      error: 1202,
      message: expect.stringMatching(/^(FOO|BREW) /),
    });
  }
});

describe('requests after a response that closes the connection are not processed', () => {
  const statuses = async (bytes: string) => (await send(bytes)).map(({ status }) => status);
  afterEach(async () => expect(await storedIds()).toEqual([]));

  test('after invalid HTTP', async () => {
    expect(await statuses(`garbage\r\n\r\n${post(3)}`)).toEqual([400]);
  });

  test('after a broken body', async () => {
    const broken = post(2, 'Transfer-Encoding: chunked\r\n', `x\r\n${plant}\r\n0\r\n\r\n`);
    expect(await statuses(broken + post(3))).toEqual([400]);
  });

  test('after a target without a path', async () => {
    expect(await statuses(post(2).replace('/plants', 'http://') + post(3))).toEqual([400]);
  });

  test('after a body that was not read because the token is wrong', async () => {
    const large = `1e8480\r\n${' '.repeat(2_000_000)}\r\n0\r\n\r\n`;
    const unread = post(2, 'Transfer-Encoding: chunked\r\n', large).replace(service.token, 'x');
    expect(await statuses(unread + post(3))).toEqual([401]);
  });

  test('after a body that the service did not ask for', async () => {
    const uninvited = post(2, 'Expect: 100-continue\r\n').replace('/plants', '/nothing');
    expect(await statuses(uninvited + post(3))).toEqual([404]);
  });

  test('after CONNECT', async () => {
    const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await statuses(tunnel + post(3))).toEqual([405]);
  });

  test('behind CONNECT that comes before a response, which closes the connection at once: see connect.test.ts', async () => {
    const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await statuses(`GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n${tunnel}${post(3)}`)).toEqual([]);
  });

  test('while the service stops', async () => {
    const stopping = await start();
    const unlock = await lockPlants(stopping.database.url);
    const bytes = Buffer.from((post(1) + post(2)).replaceAll(service.token, stopping.token));
    const answers = exchangeBytes({ port: Number(new URL(stopping.baseUrl).port), bytes });
    await waitForBlocked(stopping.database);
    const stopped = stopping.stopServer();
    await unlock();
    expect((await answers).map(({ status }) => status)).toEqual([200]);
    await stopped;
  });
});

test('the body of a request with Upgrade is read, and the connection stays open', async () => {
  const socket = connect(port(), '127.0.0.1');
  for (const [id, upgrade] of [
    [1, 'h2c'],
    [2, 'websocket'],
  ] as const) {
    socket.write(post(id, `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${upgrade}\r\nHTTP2-Settings: AAM\r\n`));
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nConnection: keep-alive\r\n/);
  }
  socket.destroy();
  expect(await storedIds()).toEqual(['1', '2']);
});

describe('a client that disconnects, or never does, does not affect others', () => {
  const open = (bytes: string, options = {}) => {
    const socket = connect({ port: port(), host: '127.0.0.1', ...options }, () => socket.write(bytes));
    socket.on('error', () => {});
    return socket;
  };

  test.each(['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', 'x\r\n\r\n'])(
    '%j, then a reset',
    async (bytes) => {
      for (let delay = 0; delay < 10; delay++) {
        const sockets = Array.from({ length: 20 }, () => open(bytes));
        // Resets at different moments.
        await setTimeout(delay);
        for (const socket of sockets) socket.resetAndDestroy();
      }
      expect((await service.agent.get('/livez')).status).toBe(200);
    },
  );

  test.each(['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 'x\r\n\r\n', 'POST /plants HTTP/1.1\r\n\r\n'])(
    '%j on a connection that the client never closes, so that the service does',
    async (bytes) => {
      const socket = open(bytes, { allowHalfOpen: true });
      const ended = new Promise((resolve) => socket.on('end', resolve));
      socket.resume();
      await ended;
      const closed = new Promise((resolve) => socket.on('close', resolve));
      // Once the service has closed the connection, a write to it causes a reset.
      const writing = setInterval(() => socket.write('x'), 100);
      await closed;
      clearInterval(writing);
    },
  );
});

test('a malformed request gets its 400 behind one whose response came before all of its body', async () => {
  const body = `{"a":"${'x'.repeat(17_000)}"}`;
  const early = `PUT /plants HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const answers = await send(`${early}GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(answers.map(({ status }) => status)).toEqual([405, 400]);
});
