import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { createPlantClient, type NewPlant, type PlantClient } from '../../client/plant-client.ts';
import { usePlantClient } from '../support/use-plant-client.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const { service, clientOf } = usePlantClient();
const startService = useTestServices();
let plants: PlantClient;
beforeEach(() => {
  plants = clientOf(service);
});

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

test('leaves out parameters without a value, and a slash at the end of the URL', async () => {
  const client = clientOf(service, { baseUrl: `${service.baseUrl}/api/v1/` });
  await client.importPlants(many(2));
  // Allowed without exactOptionalPropertyTypes.
  const options: object = { tag: undefined, q: undefined };
  expect(await Array.fromAsync(client.exportPlants(options))).toEqual(many(2));
});

test('throws for half of a surrogate pair in a filter, before it reads the plants of an import', async () => {
  await expect(plants.exportPlants({ tag: '\ud83c' }).next()).rejects.toThrow(URIError);
  const rows = jest.fn(function* () {
    yield* many(1);
  });
  const options = { delimiter: '\ud83c' as never };
  await expect(plants.importPlants({ [Symbol.iterator]: rows }, options)).rejects.toThrow(URIError);
  expect(rows).not.toHaveBeenCalled();
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
  const responses: Response[] = [];
  const fetch = async () => {
    const response = new Response(body, { status });
    responses.push(response);
    return response;
  };
  const client = clientOf(service, { fetch });
  const message = `The response has status ${status} and is not from Plant Store.`;
  await expect(client.importPlants([])).rejects.toThrow(message);
  await expect(client.exportPlants().next()).rejects.toThrow(message);
  // Or else its connection would be kept for it.
  expect(responses.map(({ bodyUsed }) => bodyUsed)).toEqual([true, true]);
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

test('closes the iterable of an import whose response comes before all rows are sent', async () => {
  let isClosed = false;
  const rows = function* () {
    try {
      for (let id = 1n; ; id++) yield { id, name: 'Fir' };
    } finally {
      isClosed = true;
    }
  };
  const fetch = async ({ body }: Request) => {
    const reader = body?.getReader();
    await reader?.read();
    await reader?.cancel();
    return Response.json({ code: 1101 }, { status: 401 });
  };
  expect((await clientOf(service, { fetch }).importPlants(rows())).error).toEqual({ code: 1101 });
  expect(isClosed).toBe(true);
});

test('a program that has imported ends', async () => {
  const program = `
    import { createBulk } from '${new URL('../../client/bulk.ts', import.meta.url)}';
    const fetch = async (request) => {
      await request.text();
      return Response.json({ created: 1 });
    };
    const { importPlants } = createBulk({ baseUrl: 'http://127.0.0.1:1', headers: {}, fetch });
    console.log(JSON.stringify((await importPlants([{ id: 1, name: 'Fir' }])).data));`;
  const words = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 20_000 });
  expect(stdout).toBe('{"created":1}\n');
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
  await service.database.query(`INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 4000) AS id`);
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
  await service.database.query(`INSERT INTO plants SELECT id, repeat('x', 10000) FROM generate_series(1, 4000) AS id`);
  for await (const { id } of plants.exportPlants()) if (id === 2n) break;
  await waitUntil('the export to end', () => service.log.some(({ msg }) => msg === 'request aborted'));
});
