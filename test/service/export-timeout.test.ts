import { get } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const TOO_LONG = 'The export took longer than EXPORT_TIMEOUT allows. Read it faster, or export fewer plants.';
const start = useTestServices();
const open: ReturnType<typeof get>[] = [];
afterEach(() => {
  for (const request of open.splice(0)) request.destroy();
});

test.each([
  ['reads', true],
  ['reads nothing more', false],
])('an export that takes longer than EXPORT_TIMEOUT is cut off although its client %s', async (_case, reads) => {
  const service = await start({ EXPORT_TIMEOUT: '2s' });
  const { database } = service;
  // More than all sockets between PostgreSQL and the client hold.
  await database.query("INSERT INTO plants SELECT n, repeat('x', 10000) FROM generate_series(1, 10000) AS n");
  const { promise: ended, resolve } = Promise.withResolvers<{ isComplete: boolean; hasFailed: boolean }>();
  const headers = { Authorization: `Bearer ${service.token}`, 'X-Request-Id': 'slow' };
  const request = get(`${service.baseUrl}/plants/export`, { headers }, (response) => {
    let hasFailed = false;
    response.on('error', () => {
      hasFailed = true;
    });
    response.on('close', () => resolve({ isComplete: response.complete, hasFailed }));
    // A piece now and then.
    response.once('data', () => response.pause());
    const timer = setInterval(() => reads && response.read(), 50);
    response.once('close', () => clearInterval(timer));
  });
  request.on('error', () => {});
  open.push(request);
  await waitUntil('the end of its transaction', async () => {
    const [row] = await database.query(
      "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%FROM plants%' AND pid <> pg_backend_pid()",
    );
    return service.log.some(({ requestId }) => requestId === 'slow') && row?.count === 0;
  });
  expect(service.log.find(({ requestId }) => requestId === 'slow')).toMatchObject({
    status: 200,
    error: 1500,
    reason: TOO_LONG,
  });
  request.destroy();
  expect((await ended).isComplete).toBe(false);
});

test('EXPORT_TIMEOUT counts from the request on, also while nothing can be read yet', async () => {
  const service = await start({ EXPORT_TIMEOUT: '1s' });
  const unlock = await lockPlants(service.database.url);
  const { status, body } = await service
    .request('get', '/plants/export')
    .then((response) => response)
    .finally(unlock);
  expect([status, body]).toEqual([503, expect.objectContaining({ error: 1500, message: TOO_LONG })]);
});

test('an export that ends in time is complete', async () => {
  const service = await start({ EXPORT_TIMEOUT: '1h' });
  await service.post({ id: 1, name: 'Fir' });
  const { status, text } = await service.request('get', '/plants/export');
  expect([status, text]).toEqual([200, '{"id":1,"name":"Fir"}\n']);
});
