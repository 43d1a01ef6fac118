import { spawnSync } from 'node:child_process';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PlantClient, Problem } from '../../client/plant-client.ts';
import { useOtherServers } from '../support/other-servers.ts';
import { onCitus } from '../support/skip.ts';
import { usePlantClient } from '../support/use-plant-client.ts';

test('importing the client says what it needs if JSON cannot keep the digits of ids, as in Node.js 20', () => {
  const code = "delete JSON.rawJSON; await import('./client/plant-client.ts')";
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('needs JSON.rawJSON: Node.js 22')]);
});

const noKeys = onCitus('keys are refused');
const { service, clientOf } = usePlantClient();
const { respondWith } = useOtherServers();
let plants: PlantClient;
beforeEach(() => {
  plants = clientOf(service);
});

describe.each([9_223_372_036_854_775_807n, 9_007_199_254_740_993n, -9_223_372_036_854_775_808n])(
  'the plant %s',
  (id) => {
    beforeEach(() => {
      plants = clientOf(service, { retry: noKeys === undefined });
    });

    test('is created, read, listed, replaced, patched and deleted with a bigint id', async () => {
      const path = { id };
      const created = await plants.POST('/plants', { body: { id, name: 'Ginkgo', tag: 'tree' } });
      expect(created.data).toEqual({ name: 'Ginkgo', tag: 'tree' });
      expect((await service.stored(id))?.id).toBe(String(id));

      const { data: read, response } = await plants.GET('/plants/{id}', { params: { path } });
      expect(read satisfies { id: bigint } | undefined).toEqual({ id, name: 'Ginkgo', tag: 'tree' });
      const { data: page, response: listed } = await plants.GET('/plants', {
        params: { query: { limit: 1, tag: 'tree' } },
      });
      expect(page).toEqual([{ id, name: 'Ginkgo', tag: 'tree' }]);
      expect(new URL('?cursor=x', listed.url).pathname).toBe('/api/v1/plants');
      expect(listed.statusText).toBe('OK');

      const etag = response.headers.get('ETag') ?? '';
      const replace = () =>
        plants.PUT('/plants/{id}', {
          params: { path, header: { 'If-Match': etag } },
          body: { name: 'Fir', tag: 'Abies' },
        });
      expect((await replace()).data).toEqual({ name: 'Fir', tag: 'Abies' });
      expect((await replace()).error?.code).toBe(1204);

      const patched = await plants.PATCH('/plants/{id}', { params: { path }, body: { tag: null } });
      expect(patched.data).toEqual({ name: 'Fir' });
      const deleted = await plants.DELETE('/plants/{id}', { params: { path } });
      expect([deleted.response.status, deleted.error]).toEqual([204, undefined]);
      expect(await service.stored(id)).toBeUndefined();
    });

    test('results in an error if its id is taken or does not exist', async () => {
      const body = { id, name: 'Ginkgo' };
      await plants.POST('/plants', { body });
      const taken = await plants.POST('/plants', { body });
      expect(taken.error satisfies Problem | undefined).toEqual({
        type: '/api/v1/docs/errors#1004',
        title: 'Id taken',
        status: 400,
        detail: `The id ${id} is taken.`,
        code: 1004,
      });
      const wrong = await plants.POST('/plants', { body: { id, name: 5 as never } });
      expect(wrong.error?.errors).toEqual([{ pointer: '/name', detail: 'must be a string, not 5' }]);
      const { error, data } = await plants.GET('/plants/{id}', { params: { path: { id: 0n } } });
      expect([data, error?.code]).toEqual([undefined, 1201]);
    });
  },
);

test('the client converts an Error that Express does not send to problem details', async () => {
  // Node.js refuses a header that is too large before Express sees it.
  const fetchTooLarge = (request: Request) => {
    request.headers.set('X-Large', 'x'.repeat(20_000));
    return fetch(request);
  };
  const client = clientOf(service, { fetch: fetchTooLarge });
  const failed = await client.GET('/plants');
  expect([failed.response.url, failed.response.statusText]).toEqual([
    expect.stringMatching(/\/plants$/),
    'Bad Request',
  ]);
  expect(failed.error).toEqual({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: 'The header, with the URL, is larger than 16 KiB, or has more than 100 fields.',
    code: 1006,
  });
});

test.each([
  [403, ''],
  [404, 'null'],
  [502, '<h1>Bad Gateway</h1>'],
  [500, '{"error":"Internal Server Error"}'],
  [500, '{"code":5,"message":"not found"}'],
  [200, ''],
  [200, '<h1>Log in</h1>'],
])('a call throws if its response is from another server: %s %s', async (status, body) => {
  const client = clientOf(service, {
    baseUrl: await respondWith(status, { 'Content-Length': `${body.length}` }, body),
  });
  const message = `The response has status ${status} and is not from Plant Store.`;
  await expect(client.DELETE('/plants/{id}', { params: { path: { id: 1n } } })).rejects.toThrow(message);
  await expect(client.GET('/plants')).rejects.toThrow(message);
});

test.each([301, 303, 307])(
  'a redirect (%i) is not followed: a POST would become a GET, and its plant be lost',
  async (status) => {
    const url = await respondWith(status, { Location: `${service.baseUrl}/api/v1/plants` });
    const client = clientOf(service, { baseUrl: url, retry: false });
    const message = `status ${status} and is not from Plant Store. It redirects: use the URL of Plant Store itself.`;
    await expect(client.POST('/plants', { body: { id: 1n, name: 'Fir' } })).rejects.toThrow(message);
    await expect(client.importPlants([{ id: 1n, name: 'Fir' }])).rejects.toThrow(message);
    await expect(client.HEAD('/plants' as never, {} as never)).rejects.toThrow(message);
    await expect(client.exportPlants().next()).rejects.toThrow(message);
    expect(await service.stored('1')).toBeUndefined();
  },
);

test('an import in which too many rows fail results in its summary', async () => {
  const { error } = await plants.POST('/plants/import', {
    params: { query: { maxErrors: 0 } },
    body: [
      { id: 1n, name: 'Fir' },
      { id: 1n, name: 'Fir' },
    ],
  });
  expect(error).toMatchObject({ created: 0, failed: 1, stoppedAt: 2, errors: [{ line: 2, error: 1004 }] });
});

test('responses without a body, and rows of an export, are passed on', async () => {
  const params = { path: { id: 1n } };
  expect((await plants.HEAD('/plants/{id}' as never, { params } as never)).response.status).toBe(404);
  await plants.POST('/plants', { body: { id: 1n, name: 'Fir' } });
  const { response } = await plants.GET('/plants/{id}', { params });
  const header = { 'If-None-Match': response.headers.get('ETag') ?? '' };
  expect((await plants.GET('/plants/{id}', { params: { ...params, header } })).response.status).toBe(304);
  const rows = await plants.GET('/plants/export', { params: { query: { format: 'csv' } }, parseAs: 'text' });
  expect(rows.data).toBe('id,name,tag\n1,Fir,\n');
});

test('plants that match are changed and deleted, with bigint ids', async () => {
  await service.database.query(
    "INSERT INTO plants VALUES (9007199254740993, 'Fir', 'a'), (2, 'Fir', 'a'), (3, 'Fir', 'a')",
  );
  const query = { tag: 'a', id: [9_007_199_254_740_993n, 3n] };
  const patched = await plants.PATCH('/plants', { params: { query }, body: { tag: 'b' } });
  expect(patched.data satisfies { updated: number } | undefined).toEqual({ updated: 2 });
  const dry = await plants.DELETE('/plants', { params: { query: { tag: 'b', dryRun: true } } });
  expect(dry.data satisfies { deleted: number } | undefined).toEqual({ deleted: 2 });
  expect((await plants.DELETE('/plants', { params: { query: { tag: 'b', limit: 1 } } })).data).toEqual({ deleted: 1 });
  expect(await service.database.query('SELECT id FROM plants ORDER BY id')).toEqual([
    { id: '2' },
    { id: '9007199254740993' },
  ]);
  expect((await plants.DELETE('/plants')).error?.code).toBe(1005);
});
