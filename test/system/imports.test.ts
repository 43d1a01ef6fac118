import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from '@jest/globals';
import { useTestService } from '../support/use-test-service.ts';

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
