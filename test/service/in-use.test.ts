import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, test } from '@jest/globals';
import { Client } from 'pg';
import { lockTable } from '../support/lock-table.ts';
import { shippedLocks } from '../support/test-service.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const service = useTestService(
  { REQUEST_TIMEOUT: '3600', RATE_LIMIT: '1000/60', METRICS_PORT: '0' },
  // So long that nothing ends before it is seen.
  { requestLimits: { linger: { idle: 3_600_000, total: 3_600_000 } } },
);
let unlock = async () => {};
const clients: { destroy: () => void }[] = [];

beforeAll(async () => {
  // Longer than what a system holds for a connection.
  const name = 'x'.repeat(1_000_000);
  for (let id = 1; id <= 10; id++) await service.post({ id, name });
});
// What is asked only once is known from now on.
beforeEach(() => service.request('get', '/plants/999'));
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await unlock();
  unlock = async () => {};
});

/** Sends a request whose response nobody reads. */
const start = (method: string, path: string, { body = '', more = {}, isOpen = false, of = service } = {}) => {
  const headers = { Authorization: `Bearer ${of.token}`, 'Content-Type': 'application/json', ...more };
  const client = request(of.baseUrl + path, { method, headers, agent: false });
  client.on('error', () => {});
  clients.push(client);
  if (isOpen) client.write(body);
  else client.end(body);
  return client;
};
const lock = async (table: string) => {
  unlock = await lockTable(service.database.url, table);
};
const POST = { body: '{"id":1000,"name":"Fir"}' };

/** Waits until the metric shows what is in use, and then, after its end, that nothing is. */
const expectInUse = async (expected: Record<string, number>, of = service) => {
  const read = async () => {
    const { value } = await of.metrics();
    return Object.keys(expected).map((resource) => value('plant_store_in_use', { resource }) ?? Number.NaN);
  };
  const atLeast = Object.values(expected);
  let found: number[] = [];
  const isInUse = async () => {
    found = await read();
    return found.every((number, index) => number >= (atLeast[index] ?? 0));
  };
  await waitUntil('what is in use', isInUse, { explain: () => JSON.stringify(found) });
  for (const client of clients.splice(0)) client.destroy();
  await unlock();
  unlock = async () => {};
  const isIdle = async () => {
    found = await read();
    return found.every((number) => number === 0);
  };
  await waitUntil('nothing in use', isIdle, { explain: () => JSON.stringify(found) });
};

test.each(['tokens', 'rate_limits'])('a look-up in the table %s', async (table) => {
  const token = await service.tokens.create({ name: table, scopes: ['plants:read'], expiresAt: null });
  await lock(table);
  start('GET', '/plants/999', { more: { Authorization: `Bearer ${token}` } });
  await expectInUse({ requests: 1, sent: 1, connections: 1 });
});

test('creations, of which some wait in the queue', async () => {
  await lock('plants');
  // On a busy machine, requests that arrive together share the first statement.
  for (let sent = 0; service.inUse().queued === 0; sent++) {
    start('POST', '/plants', POST);
    await waitUntil('the request', () => service.inUse().requests > sent);
    // Long enough for a statement to be sent, unless there are as many as may be.
    await service.metrics();
  }
  for (let count = 0; count < 20; count++) start('POST', '/plants', POST);
  await expectInUse({ requests: 20, sent: 1, queued: 1, queuedBytes: 500, connections: 1 });
});

describe('with the lock timeout of production', () => {
  // The others wait for a lock until a test releases it.
  const own = useTestService({ REQUEST_TIMEOUT: '3600', METRICS_PORT: '0' }, { requestLimits: shippedLocks });

  test('a plant that is locked', async () => {
    await own.post({ id: 1, name: 'Fir' });
    const other = new Client({ connectionString: own.database.url });
    await other.connect();
    unlock = () => other.end();
    await other.query('BEGIN; UPDATE plants SET name = name WHERE id = 1');
    start('DELETE', '/plants/1', { of: own });
    await expectInUse({ lockedPlants: 1 }, own);
  });
});

test('a large body that is being sent', async () => {
  start('POST', '/plants', { body: ' '.repeat(100_000), more: { 'Content-Length': 1_000_000 }, isOpen: true });
  await expectInUse({ bodyBytes: 1_000_000 });
});

test('an import', async () => {
  await lock('plants');
  start('POST', '/plants/import', {
    body: '{"id":1000,"name":"Fir"}\n',
    more: { 'Content-Type': 'application/x-ndjson' },
  });
  await expectInUse({ imports: 1, connections: 1 });
});

test('an export', async () => {
  start('GET', '/plants/export').on('response', (response) => response.pause());
  await expectInUse({ exports: 1 });
});

test('a connection whose request was refused before its body came', async () => {
  // Its client does not end its side when the service does.
  const port = Number(new URL(service.baseUrl).port);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume();
  socket.write(`POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
  clients.push(socket);
  await expectInUse({ lingering: 1 });
});
