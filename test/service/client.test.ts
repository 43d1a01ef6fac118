import { spawnSync } from 'node:child_process';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PlantClient, Problem } from '../../client/plant-client.ts';
import { onCitus } from '../support/skip.ts';
import { usePlantClient } from '../support/use-plant-client.ts';

test('importing the client says what it needs if JSON cannot keep the digits of ids, as in Node.js 20', () => {
  const code = "delete JSON.rawJSON; await import('./client/plant-client.ts')";
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('needs JSON.rawJSON: Node.js 22')]);
});

const noKeys = onCitus('keys are refused');
const { service, clientOf } = usePlantClient();
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
