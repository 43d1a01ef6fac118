import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const start = useTestServices();
let service: TestService;

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

/** @returns the answer, or an empty string if the service closes the connection instead */
const tryToSend = (socket: Socket, text: string) =>
  Promise.race([send(socket, text), once(socket, 'close').then(() => '')]).catch(() => '');

const READY = 'GET /readyz HTTP/1.1\r\nHost: store\r\n\r\n';

test('the service closes connections above MAX_CONNECTIONS and serves those below', async () => {
  service = await start({ MAX_CONNECTIONS: '3' });
  const sockets = [await open(), await open(), await open()];
  for (const socket of sockets) expect(await send(socket, READY)).toMatch(/^HTTP\/1\.1 200 /);
  const fourth = await open();
  await once(fourth, 'close');
  const [first] = sockets as [Socket];
  first.destroy();
  let answer = '';
  await waitUntil('the place of the first connection', async () => {
    answer = await tryToSend(await open(), READY);
    return answer !== '';
  });
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

test('a service that stops accepts requests for SHUTDOWN_DELAY and reports that it is not ready', async () => {
  service = await start({ SHUTDOWN_DELAY: '1' });
  const idle = await open();
  expect(await send(idle, READY)).toMatch(/^HTTP\/1\.1 200 /);
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

test('pipelined requests are all answered at shutdown, and only the last answer closes the connection', async () => {
  service = await start();
  const client = await open();
  const unlock = await lockPlants(service.database.url);
  const read = `GET /plants/1 HTTP/1.1\r\nHost: store\r\nAuthorization: Bearer ${service.token}\r\n\r\n`;
  let answers = '';
  client.on('data', (chunk) => (answers += chunk));
  // Now, because the connection may close before the lock is released.
  const closed = once(client, 'close');
  client.write(read + READY + READY);
  await waitForBlocked(service.database, 'FROM plants');
  const stopped = service.stopServer();
  await unlock();
  await closed;
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 503', 'HTTP/1.1 503']);
  expect(answers.match(/^Connection: \S+/gm)).toEqual([
    'Connection: keep-alive',
    'Connection: keep-alive',
    'Connection: close',
  ]);
  await stopped;
});
