import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. */
const CHECK_INTERVAL = 200;

const service = useTestService({}, { requestLimits: { connectionCheckInterval: CHECK_INTERVAL } });
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  service.log.splice(0);
});

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A client that ends its side once it has sent `text`, as `nc -N` does, and then reads to the end. */
const sendAndEnd = (text: string) => {
  const socket = connect({ port: Number(new URL(service.baseUrl).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => {});
  socket.end(text);
  const received = once(socket, 'end').then(() => Buffer.concat(pieces).toString());
  received.catch(() => {});
  return { socket, received, pieces };
};

const request = (method: string, path: string, body = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n` +
  `${body ? `Content-Length: ${body.length}\r\n` : ''}\r\n${body}`;
const post = (id: number) => request('POST', '/plants', `{"id":${id},"name":"Fir"}`);

/** The statuses of final responses. */
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));

describe('a client that ends its side', () => {
  test('gets the response to its request, and then the end of the connection', async () => {
    expect(statuses(await sendAndEnd(post(1)).received)).toEqual([200]);
    expect(await service.stored(1n)).toBeDefined();
  });

  test('gets the responses to all of its pipelined requests', async () => {
    const requests = Array.from({ length: 50 }, (_, id) => post(id)).join('');
    expect(statuses(await sendAndEnd(requests + request('GET', '/plants/99')).received)).toEqual([
      ...Array(50).fill(200),
      404,
    ]);
  });

  test('gets a whole export', async () => {
    await service.database.query(
      "INSERT INTO plants (id, name) SELECT id, repeat('x', 10000) FROM generate_series(1, 2000) AS id",
    );
    const text = await sendAndEnd(request('GET', '/plants/export')).received;
    expect(statuses(text)).toEqual([200]);
    expect(text.match(/"id":/g)).toHaveLength(2000);
    expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true);
  });

  test('waits for a response that takes long; interim responses may precede it', async () => {
    const unlock = await lockPlants(service.database.url);
    const { received, pieces } = sendAndEnd(request('GET', '/plants/1'));
    await waitForBlocked(service.database, 'FROM plants');
    await waitUntil('an interim response', () => pieces.length > 0);
    await unlock();
    const text = await received;
    expect(text).toMatch(/^(HTTP\/1\.1 100 Continue\r\n\r\n)+HTTP\/1\.1 404 /);
  });

  test('within a body is disconnected', async () => {
    const text = await sendAndEnd(post(1).slice(0, -1)).received;
    expect(statuses(text)).toEqual([400]);
    expect(await service.stored(1n)).toBeUndefined();
    expect(service.log).toContainEqual(expect.objectContaining({ msg: 'request aborted' }));
  });

  test('on an idle connection has it closed at once', async () => {
    const { received } = sendAndEnd('');
    expect(await received).toBe('');
  });
});

test.each(['destroy', 'resetAndDestroy'] as const)(
  'a client that is gone (%s) after its request ends the request before its response',
  async (leave) => {
    const unlock = await lockPlants(service.database.url);
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(request('GET', '/plants/1'));
    await waitForBlocked(service.database, 'FROM plants');
    socket[leave]();
    await waitUntil('the end of the request', () => service.log.some(({ msg }) => msg === 'request aborted'));
    await unlock();
  },
);
