import { gzipSync } from 'node:zlib';
import { describe, expect, jest, test } from '@jest/globals';
import { answerOf, counts, NDJSON, numbered, useImports } from '../../support/use-imports.ts';

const client = useImports();
const { start, importPlants, count, metrics } = client;

describe('the request', () => {
  test.each([
    ['?onConflict=ignore', 'The parameter onConflict must be error, skip or replace, not "ignore".'],
    ['?onconflict=skip', 'The parameter onconflict is not known.'],
    ['?dryRun=1', 'The parameter dryRun must be true or false, not "1".'],
    ['?delimiter=|', 'The parameter delimiter must be a comma, a semicolon or tab, not "|".'],
    ['?dryRun', 'The parameter dryRun must be true or false, not "".'],
    ['?atomic=true&atomic=false', 'The parameter atomic must be true or false, not an array of 2 values.'],
    ['?maxErrors=10001', 'The parameter maxErrors must be an integer from 0 to 10000, not "10001".'],
    [
      '?maxErrors=-1&x=1',
      'The parameter maxErrors must be an integer from 0 to 10000, not "-1". The parameter x is not known.',
    ],
  ])('with %s → 400, code 1005', async (query, message) => {
    expect(await importPlants('{"id":1,"name":""}', { query })).toMatchObject({
      status: 400,
      body: { error: 1005, message },
    });
    expect(await count()).toBe(0);
  });

  test('is at most IMPORT_LIMIT bytes after decompression, whatever its format', async () => {
    await start({ IMPORT_LIMIT: '1000' });
    const row = (id: number, length: number) => `{"id":${id},"name":"${'x'.repeat(length)}"}`;
    const send = (body: string, type = NDJSON) =>
      importPlants(gzipSync(body), { type, headers: { 'Content-Encoding': 'gzip' } });
    const room = 1000 - row(1, 0).length;
    expect(await send(row(1, room))).toMatchObject({ status: 200, body: counts(1) });
    for (const [body, type] of [
      [row(2, room + 1), NDJSON],
      [`id,name\n2,${'x'.repeat(1000)}`, 'text/csv'],
      [`[${row(2, room)}]`, 'application/json'],
    ] as const)
      expect(await send(body, type)).toMatchObject({ status: 400, body: { error: 1002 } });
    expect(await count()).toBe(1);
  });

  test.each([NDJSON, 'application/json'])(
    'of more than IMPORT_LIMIT bytes is refused before its body: %s',
    async (type) => {
      await start({ IMPORT_LIMIT: '1000' });
      const request = client.openImport('', { Expect: '100-continue', 'Content-Type': type, 'Content-Length': '1001' });
      const invited = jest.fn();
      request.on('continue', invited);
      request.flushHeaders();
      const error = { error: 1002, message: expect.stringContaining('at most 1000 bytes.') };
      expect(await answerOf(request)).toMatchObject({ status: 400, body: error });
      expect(invited).not.toHaveBeenCalled();
      request.destroy();
    },
  );

  test('needs a token with plants:write', async () => {
    const post = (token: string) => client.service.agent.post('/plants/import').set('Authorization', `Bearer ${token}`);
    expect((await client.service.agent.post('/plants/import')).status).toBe(401);
    const reader = await client.service.tokens.create({ name: 'reader', scopes: ['plants:read'], expiresAt: null });
    expect((await post(reader)).status).toBe(403);
  });

  test('must be a POST', async () => {
    for (const method of ['get', 'put', 'patch', 'delete'] as const) {
      const { status, headers } = await client.service.request(method, '/plants/import');
      expect([status, headers.allow]).toEqual([405, 'POST, OPTIONS']);
    }
    const { status, headers } = await client.service.agent.options('/plants/import');
    expect([status, headers.allow]).toEqual([204, 'POST, OPTIONS']);
  });

  test('gets problem details if it prefers them', async () => {
    const { headers, body } = await importPlants('x', {
      type: 'text/plain',
      headers: { Accept: 'application/problem+json' },
    });
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toMatchObject({ status: 400, code: 1001 });
  });
});

test('imports are counted, and each is logged in one line', async () => {
  await start({ METRICS_PORT: '0' });
  expect((await metrics()).value('plant_store_import_rows_total', { outcome: 'created' })).toBe(0);
  await importPlants(`${numbered(1, 10)}{}\n${numbered(10, 10)}`);
  await importPlants(numbered(1, 20), { query: '?onConflict=skip' });
  await importPlants(numbered(1, 20), { query: '?dryRun=true' });
  const { value } = await metrics();
  const rows = (outcome: string) => value('plant_store_import_rows_total', { outcome });
  expect(['created', 'replaced', 'skipped', 'failed'].map(rows)).toEqual([20, 0, 10, 2]);
  expect(value('plant_store_imports_in_progress')).toBe(0);
  const ends = client.service.log.filter(({ msg }) => msg === 'import ended');
  expect(ends).toMatchObject([
    { level: 'info', outcome: 'completed', ...counts(10, 0, 0, 2), onConflict: 'error', requestId: expect.any(String) },
    { ...counts(10, 0, 10) },
    { dryRun: true },
  ]);
});
