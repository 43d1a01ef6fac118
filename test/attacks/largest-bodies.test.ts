import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestService } from '../support/use-test-service.ts';

/** How long clients send, in ms. */
const DURATION = 15_000;
const CLIENTS = 12;
/** The largest that the configuration allows. */
const BODY_LIMIT = 4_194_304;

const folder = useDataFolder();
/** Its database and token. The store is a process of its own, with the heap that it has when it is shipped. */
const service = useTestService();

const json = { 'Content-Type': 'application/json' };
const LENGTH = BODY_LIMIT - 100;
/** One character makes all others take two bytes in memory. */
const name = `🌲${'x'.repeat(LENGTH - 4)}`;
const escaped = '\\u00e9'.repeat(Math.floor(LENGTH / 6));
let id = 0;
const row = (value: string) => `{"id":${++id},"name":"${value}"}`;

type Sent = { method: string; path: string; headers: Record<string, string>; body: string };

const post = (body: string, headers: Record<string, string> = json, path = '/plants'): Sent => ({
  method: 'POST',
  path,
  headers,
  body,
});
const importOf = (type: string, body: string) =>
  post(body, { 'Content-Type': type }, '/plants/import?onConflict=replace');

const kinds: (() => Sent)[] = [
  () => post(row(name)),
  () => post(row(escaped)),
  () => post(row(name), { ...json, 'Idempotency-Key': `key-${id}` }),
  () => ({ method: 'PUT', path: '/plants/1', headers: { ...json, 'If-Match': '*' }, body: `{"name":"${name}"}` }),
  () => ({
    method: 'PATCH',
    path: '/plants/1',
    headers: { ...json, 'Idempotency-Key': `key-${++id}` },
    body: `{"tag":"${name}"}`,
  }),
  () => importOf('application/json', `[${row(name)}]`),
  () => importOf('application/x-ndjson', `${row(name)}\n${row(name)}\n`),
  () => importOf('text/csv', `id,name\n${++id},"${name}"\n`),
  () => ({ method: 'GET', path: '/plants/1', headers: {}, body: '' }),
  () => ({ method: 'GET', path: '/plants?limit=10', headers: {}, body: '' }),
];

test('bodies of the largest BODY_LIMIT, many at once and of every kind, do not end the process', async () => {
  const tokens = [
    service.token,
    await service.tokens.create({ name: 'other', scopes: ['plants:read', 'plants:write'], expiresAt: null }),
  ];
  const store = await startStore({
    DATA_DIR: folder.path,
    DATABASE_URL: service.database.url,
    BODY_LIMIT: String(BODY_LIMIT),
  });
  const statuses = new Map<number, number>();
  const send = async ({ method, path, headers, body }: Sent, token = '') => {
    const sent = request(`${store.url}${path}`, {
      method,
      agent: false,
      headers: { ...headers, Authorization: `Bearer ${token}`, 'Content-Length': Buffer.byteLength(body) },
    });
    sent.end(body);
    const [response] = await once(sent, 'response');
    await text(response);
    statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1);
  };
  const end = performance.now() + DURATION;
  const client = async (_: unknown, first: number) => {
    for (let turn = first; performance.now() < end && store.process.exitCode === null; turn++)
      // A response that came early closes the connection under a client that still sends.
      await send((kinds[turn % kinds.length] as () => Sent)(), tokens[first % 2]).catch(() => {});
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  expect([store.process.exitCode, store.process.signalCode]).toEqual([null, null]);
  expect(statuses.get(200)).toBeGreaterThan(CLIENTS);
  expect(statuses.get(500)).toBeUndefined();
  expect((await fetch(`${store.url}/readyz`)).status).toBe(200);
});
