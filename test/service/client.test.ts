import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createPlantClient, type NewPlant, type PlantClient, type Problem } from '../../client/plant-client.ts';
import { onCitus } from '../support/skip.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

test('importing the client says what it needs if JSON cannot keep the digits of ids, as in Node.js 20', () => {
  const code = "delete JSON.rawJSON; await import('./client/plant-client.ts')";
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('needs JSON.rawJSON: Node.js 22')]);
});

const noKeys = onCitus('keys are refused');
const service = useTestService({ BASE_PATH: '/api/v1' });
const startService = useTestServices();
const clientOf = ({ baseUrl, token }: TestService, options: Partial<Parameters<typeof createPlantClient>[0]> = {}) =>
  createPlantClient({ baseUrl: `${baseUrl}/api/v1`, token, ...options });
let plants: PlantClient;
beforeEach(async () => {
  plants = clientOf(service);
  service.log.splice(0);
  await service.database.query('TRUNCATE plants');
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
  expect(failed.response.url).toMatch(/\/plants$/);
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

describe('import and export', () => {
  /** Plants whose ids exceed the precision of a double. */
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: 9_007_199_254_740_993n + 2n * BigInt(index),
      name: `Fir ${index} "é"\n`,
      ...(index % 2 === 0 && { tag: index % 3 === 0 ? '' : 'Abies' }),
    }));

  test('imports plants from an iterable and exports them, with bigint ids', async () => {
    const sent = many(12_000);
    const { data, error } = await plants.importPlants(
      (async function* () {
        yield* sent;
      })(),
    );
    expect([data, error]).toEqual([{ created: 12_000, replaced: 0, skipped: 0, failed: 0, errors: [] }, undefined]);
    expect(await Array.fromAsync(plants.exportPlants())).toEqual(sent);
    const tagged = await Array.fromAsync(plants.exportPlants({ tag: '', q: 'fir 6' }));
    expect(tagged).toEqual(sent.filter(({ name, tag }) => tag === '' && name.startsWith('Fir 6')));
  });

  test('reports failed rows, and whether too many failed', async () => {
    const [first, second] = many(2) as [NewPlant, NewPlant];
    const { data, response } = await plants.importPlants([first, first, second]);
    expect(data).toMatchObject({ created: 2, failed: 1, errors: [{ line: 2, id: first.id, error: 1004 }] });
    expect(response.ok).toBe(true);
    const again = await plants.importPlants([first, second], { maxErrors: 0 });
    expect([again.response.ok, again.data?.failed, again.data?.stoppedAt]).toEqual([false, 2, 1]);
    expect((await plants.importPlants([first, second], { onConflict: 'skip' })).data?.skipped).toBe(2);
  });

  test('reports errors as problem details', async () => {
    const client = clientOf(service, { token: 'wrong' });
    expect((await client.importPlants([])).error).toMatchObject({ status: 401, code: 1101 });
    await expect(client.exportPlants().next()).rejects.toMatchObject({
      message: expect.stringMatching(/^The token is wrong, expired or revoked\./),
      cause: { code: 1101 },
    });
  });

  test.each([
    [502, '<h1>Bad Gateway</h1>'],
    [500, '{"error":"Internal Server Error"}'],
    [404, 'null'],
    [200, ''],
    [200, '{"status":1}'],
  ])('says that a response of another server is not from the service: %s %s', async (status, body) => {
    const fetch = async () => new Response(body, { status });
    const client = clientOf(service, { fetch });
    const message = `The response has status ${status} and is not from Plant Store.`;
    await expect(client.importPlants([])).rejects.toThrow(message);
    await expect(client.exportPlants().next()).rejects.toThrow(message);
  });

  test('rejects if the iterable throws', async () => {
    const failing = (async function* () {
      yield* many(1);
      throw new Error('no more plants');
    })();
    await expect(plants.importPlants(failing)).rejects.toThrow('no more plants');
  });

  test('notices a response, and an abort, while an iterable that never waits is sent', async () => {
    const endless = function* () {
      for (let id = 1n; ; id++) yield { id, name: 'Fir' };
    };
    const client = createPlantClient({ baseUrl: service.baseUrl, token: 'x'.repeat(43) });
    // A connection that is closed while its request is sent may lose the response.
    const outcome = await client.importPlants(endless()).catch((error: Error) => ({ error }));
    expect(outcome.error).toBeDefined();
    const signal = AbortSignal.timeout(100);
    await expect(plants.importPlants(endless(), { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('closes the iterable of an import that is aborted', async () => {
    const closed = Promise.withResolvers<void>();
    const [controller, reason] = [new AbortController(), new Error('enough')];
    const rows = async function* () {
      try {
        for (let id = 1n; ; id++) {
          yield { id, name: 'x'.repeat(100_000) };
          await setTimeout(1);
          if (id === 10n) controller.abort(reason);
        }
      } finally {
        closed.resolve();
      }
    };
    await expect(plants.importPlants(rows(), { signal: controller.signal })).rejects.toBe(reason);
    await closed.promise;
  });

  test('throws if the export is incomplete', async () => {
    const own = await startService({ BASE_PATH: '/api/v1' });
    await own.database.query(`INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 4000) AS id`);
    const read = async () => {
      let count = 0;
      for await (const { id } of clientOf(own).exportPlants()) {
        expect(id).toBe(BigInt(++count));
        if (count > 1) continue;
        await own.database.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        );
      }
    };
    await expect(read()).rejects.toThrow('The export is incomplete.');
  });

  test('a signal ends an import and an export', async () => {
    await service.database.query(
      `INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 4000) AS id`,
    );
    const [controller, reason] = [new AbortController(), new Error('enough')];
    const { signal } = controller;
    const read = async () => {
      for await (const { id } of plants.exportPlants({ signal })) if (id === 2n) controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
    const importing = new AbortController();
    const rows = async function* () {
      yield { id: 5000n, name: 'x'.repeat(100_000) };
      importing.abort(reason);
      yield { id: 5001n, name: 'Fir' };
    };
    await expect(plants.importPlants(rows(), { signal: importing.signal })).rejects.toBe(reason);
    expect(await service.stored('5000')).toBeUndefined();
  });

  test.each<[string, (client: PlantClient, signal: AbortSignal) => Promise<unknown>]>([
    ['an export', (client, signal) => Array.fromAsync(client.exportPlants({ signal }))],
    ['an import', (client, signal) => client.importPlants([{ id: 1n, name: 'Fir' }], { signal })],
    ['a request', (client, signal) => client.GET('/plants/count', { signal })],
  ])('a signal ends %s whose Request may be garbage collected', async (_title, call) => {
    const arrived = Promise.withResolvers<void>();
    // Responds with the first row of an export, and otherwise not.
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/plants/export'))
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).write('{"id":1,"name":"Fir"}\n');
      arrived.resolve();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const [controller, reason] = [new AbortController(), new Error('enough')];
      const client = createPlantClient({ baseUrl: `http://127.0.0.1:${port}`, token: 'x' });
      const outcome = call(client, controller.signal).catch((error) => error);
      await arrived.promise;
      setFlagsFromString('--expose-gc');
      const collectGarbage = runInNewContext('gc') as () => void;
      for (let count = 0; count < 5; count++) {
        await setTimeout(20);
        collectGarbage();
      }
      controller.abort(reason);
      expect(await outcome).toBe(reason);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('cancels the export if the caller stops reading', async () => {
    await service.database.query(
      `INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 4000) AS id`,
    );
    for await (const { id } of plants.exportPlants()) if (id === 2n) break;
    await waitUntil('the export to end', () => service.log.some(({ msg }) => msg === 'request aborted'));
  });
});
