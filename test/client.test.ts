import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createPlantClient, type PlantClient, type Problem } from '../client/plant-client.ts';
import { startTestService, type TestService } from './support/test-service.ts';

test('openapi-types.ts is made from openapi.json as it is (make it anew with: npm run client)', () => {
  const [head = '', ...lines] = readFileSync('client/openapi-types.ts', 'utf8').split('\n');
  const hash = createHash('sha256').update(readFileSync('openapi.json')).update(lines.join('\n')).digest('hex');
  expect(head).toContain(`SHA-256 of both: ${hash}`);
});

test('the client is built on the version of openapi-fetch that it is tested with', () => {
  const versionIn = (path: string, kind: string) => JSON.parse(readFileSync(path, 'utf8'))[kind]['openapi-fetch'];
  expect(versionIn('client/package.json', 'dependencies')).toBe(versionIn('package.json', 'devDependencies'));
});

describe.each([9_223_372_036_854_775_807n, 9_007_199_254_740_993n, -9_223_372_036_854_775_808n])(
  'the plant %s',
  (id) => {
    let service: TestService;
    let plants: PlantClient;
    beforeEach(async () => {
      service = await startTestService({ BASE_PATH: '/api/v1' });
      plants = createPlantClient({ baseUrl: `${service.baseUrl}/api/v1`, token: service.token });
    });
    afterEach(() => service.stop());

    test('is created, read, listed, replaced, changed and deleted, its id a bigint', async () => {
      const path = { id };
      const created = await plants.POST('/plants', { body: { id, name: 'Ginkgo', tag: 'tree' } });
      expect(created.data).toEqual({ name: 'Ginkgo', tag: 'tree' });
      expect((await service.stored(id))?.id).toBe(String(id));

      const { data: read, response } = await plants.GET('/plants/{id}', { params: { path } });
      expect(read satisfies { id: bigint } | undefined).toEqual({ id, name: 'Ginkgo', tag: 'tree' });
      const { data: page } = await plants.GET('/plants', { params: { query: { limit: 1, tag: 'tree' } } });
      expect(page).toEqual([{ id, name: 'Ginkgo', tag: 'tree' }]);

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

    test('is an error where it is taken, or not there', async () => {
      const body = { id, name: 'Ginkgo' };
      await plants.POST('/plants', { body });
      const taken = await plants.POST('/plants', { body });
      expect(taken.error satisfies Problem | undefined).toEqual({
        type: '/api/v1/docs/errors/1004',
        title: 'Id taken',
        status: 400,
        detail: `The id ${id} is taken.`,
        code: 1004,
      });
      const wrong = await plants.POST('/plants', { body: { id, name: 5 as never } });
      expect(wrong.error?.errors).toEqual([{ pointer: '/name', detail: 'should be a string' }]);
      const { error, data } = await plants.GET('/plants/{id}', { params: { path: { id: 0n } } });
      expect([data, error?.code]).toEqual([undefined, 1201]);
    });
  },
);

test('an Error from outside of the app becomes problem details', async () => {
  const service = await startTestService();
  try {
    // A header that is too large never reaches the app.
    const fetchTooLarge = (request: Request) => {
      request.headers.set('X-Large', 'x'.repeat(20_000));
      return fetch(request);
    };
    const plants = createPlantClient({ baseUrl: service.baseUrl, token: service.token, fetch: fetchTooLarge });
    expect((await plants.GET('/plants')).error).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'The request is not valid HTTP/1.1, or its header is too large.',
      code: 1006,
    });
  } finally {
    await service.stop();
  }
});
