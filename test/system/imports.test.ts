import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from '@jest/globals';
import { startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const folder = useDataFolder();
const service = useTestService();

beforeEach(() => service.database.query('TRUNCATE plants'));

const importPlants = async (body: string | Buffer, { query = '', headers = {} }) => {
  const response = await fetch(`${service.baseUrl}/plants/import${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/x-ndjson', ...headers },
    body: body as string,
  });
  return { status: response.status, body: (await response.json()) as Record<'created' | 'skipped' | 'failed', number> };
};

const count = async () => Number((await service.database.query('SELECT count(*) FROM plants'))[0]?.count);

test('a body that is very large after decompression is read in bounded memory', async () => {
  const bomb = gzipSync(`${Buffer.alloc(268_435_456, ' ')}\n{"id":1,"name":"Fir"}\n`);
  const before = process.memoryUsage().rss;
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const { body } = await importPlants(bomb, { headers: { 'Content-Encoding': 'gzip' } });
  clearInterval(timer);
  expect(body).toMatchObject({ created: 1, replaced: 0, skipped: 0, failed: 1, errors: [{ line: 1, error: 1002 }] });
  expect(most - before).toBeLessThan(100 * 1_048_576);
});

test('after the service is killed, stored rows remain, and a repeated import skips them', async () => {
  const rows = Array.from({ length: 30_000 }, (_, index) => `{"id":${index + 1},"name":"Fir ${index + 1}"}\n`).join('');
  const store = await startStore({ DATA_DIR: folder.path, DATABASE_URL: service.database.url });
  const request = httpRequest(`${store.url}/plants/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/x-ndjson' },
  });
  request.on('error', () => {});
  request.write(rows);
  await waitUntil('rows', async () => (await count()) >= 4000);
  process.kill(store.pid, 'SIGKILL');
  await store.exited;
  const { status, body } = await importPlants(rows, { query: '?onConflict=skip' });
  expect([status, body.created + body.skipped, body.failed, await count()]).toEqual([200, 30_000, 0, 30_000]);
  expect(body.skipped).toBeGreaterThanOrEqual(4000);
});
