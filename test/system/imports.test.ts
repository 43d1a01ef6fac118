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
  // Members of a file, so that this process never has all of it.
  const member = gzipSync(Buffer.alloc(1_048_576, ' '));
  const bomb = Buffer.concat([...Array(256).fill(member), gzipSync('\n{"id":1,"name":"Fir"}\n')]);
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
