import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { lockTable, terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { onCitus, unless } from '../support/skip.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const { describe, test } = unless(onCitus('keys are refused'));

let unlock = async () => {};
afterEach(async () => {
  await unlock();
  unlock = async () => {};
});
// After the lock is released, as a service waits for its requests.
const start = useTestServices();

/** So long that no response is caused by a timeout. */
const PATIENT = { REQUEST_TIMEOUT: '3600' };

const post = (service: TestService, key: string, plant: object = { id: 1, name: 'Fir' }) =>
  service.post(plant, { 'Idempotency-Key': key }).then(({ status, body, headers }) => {
    const isReplayed = headers['idempotent-replayed'] === 'true';
    return status === 200 ? (isReplayed ? 'replayed' : 'created') : `${status} ${body.error} ${body.message}`;
  });
type Outcome = Awaited<ReturnType<typeof post>>;

const count = (outcomes: Outcome[]) => {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

const { changes } = limitRequests(readConfig(PATIENT));

test('a key that comes with two bodies at once is stored for one of them', async () => {
  const service = await start(PATIENT);
  unlock = await lockPlants(service.database.url);
  const outcomes = ['Fir', 'Oak'].map((name) => post(service, 'a', { id: 1, name }));
  await waitForBlocked(service.database, 'idempotency_keys');
  await unlock();
  const [first = '', second] = (await Promise.all(outcomes)).sort((a, b) => a.length - b.length);
  expect([first, second]).toEqual(['created', expect.stringMatching(/^422 1301 /)]);
});

test('the same key many times in one statement is stored once, whatever comes between', async () => {
  const service = await start(PATIENT);
  unlock = await lockPlants(service.database.url);
  const blocking = service.post({ id: 1000, name: 'Fir' }).then(({ status }) => status);
  await waitForBlocked(service.database);
  const others = Array.from({ length: 20 }, (_, index) =>
    post(service, `other-${index}`, { id: 10 + index, name: 'Yew' }),
  );
  const same = Array.from({ length: 20 }, () => post(service, 'a'));
  await waitUntil('their places in the queue', () => service.inUse().queued >= 20);
  await unlock();
  expect(await blocking).toBe(200);
  expect(count(await Promise.all(same))).toEqual({ created: 1, replayed: 19 });
  expect(count(await Promise.all(others))).toEqual({ created: 20 });
});

test('requests that wait to look for their key count with their bodies', async () => {
  const requestLimits = { changes: { ...changes, batches: 1, queueBytes: 30_000 } };
  const service = await start(PATIENT, { requestLimits });
  unlock = await lockTable(service.database.url, 'idempotency_keys');
  const put = (key: string) =>
    service
      .request('put', '/plants/1')
      .set({ 'Idempotency-Key': key, 'If-Match': '"x"' })
      .send({ name: 'x'.repeat(10_000) })
      .then(({ status }) => status);
  const first = put('first');
  await waitForBlocked(service.database, 'idempotency_keys');
  const others = ['a', 'b', 'c', 'd'].map(put);
  await waitUntil('the refusals', () => service.log.filter(({ error }) => error === 1500).length >= 3);
  await unlock();
  expect(await first).toBe(404);
  await Promise.all(others);
});

/** @returns the responses to all requests from now on, as long as they are in memory */
const watchResponses = () => {
  const responses: WeakRef<ServerResponse>[] = [];
  const note = (message: unknown) =>
    responses.push(new WeakRef((message as { request: IncomingMessage; response: ServerResponse }).response));
  subscribe('http.server.request.start', note);
  return { responses, stop: () => unsubscribe('http.server.request.start', note) };
};

/** Prisma keeps so many notes for its log, among them errors, whose stack traces hold what failed. */
const PRISMA_NOTES = 100;

const expectReleased = (responses: WeakRef<ServerResponse>[]) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as (options: object) => void;
  return waitUntil('the release of the responses', () => {
    // As before memory is exhausted: what V8 only caches is collected, too.
    collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    return responses.filter((response) => response.deref() !== undefined).length <= PRISMA_NOTES;
  });
};

describe.each([
  ['1000 requests in progress with one key', 1000, () => 1],
  ['200 requests in progress with keys of their own', 200, (index: number) => index],
])('%s', (_title, requests, idOf) => {
  const sendAll = async (service: TestService) => {
    unlock = await lockPlants(service.database.url);
    const { responses, stop } = watchResponses();
    const controller = new AbortController();
    const statuses = Array.from({ length: requests }, (_, index) =>
      fetch(`${service.baseUrl}/plants`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.token}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': `key-${idOf(index)}`,
        },
        body: JSON.stringify({ id: idOf(index), name: 'Fir' }),
        signal: controller.signal,
      }).then(
        async (response) => {
          await response.text();
          return response.status;
        },
        () => 'none',
      ),
    );
    await waitUntil('the requests', () => responses.length === requests);
    stop();
    return { responses, statuses, leave: () => controller.abort() };
  };

  test('are forgotten once they are answered', async () => {
    const service = await start(PATIENT);
    const { responses, statuses } = await sendAll(service);
    await unlock();
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    await expectReleased(responses);
  });

  test('are forgotten once their clients have left', async () => {
    const service = await start(PATIENT);
    const { responses, statuses, leave } = await sendAll(service);
    leave();
    expect(new Set(await Promise.all(statuses))).toEqual(new Set(['none']));
    await unlock();
    await expectReleased(responses);
    // Whether the request had been sent to PostgreSQL or not.
    expect(['created', 'replayed']).toContain(await post(service, 'key-1', { id: 1, name: 'Fir' }));
  });
});

describe('a key whose first request fails because of the database can be sent again', () => {
  const UNKNOWN =
    '503 1501 The database was lost or took too long. The outcome is unknown. Send the request again, with its ' +
    'Idempotency-Key if it has one; if not, code 1004 then means that the plant was stored.';

  test('its statement takes too long', async () => {
    const service = await start(PATIENT, { requestLimits: { statementTimeout: 300 } });
    await post(service, 'warm-up', { id: 2, name: 'Yew' });
    unlock = await lockPlants(service.database.url);
    expect(await post(service, 'a')).toBe(
      '503 1500 The statement took too long and was cancelled; nothing was changed. Try again later.',
    );
    await unlock();
    expect([await post(service, 'a'), await post(service, 'a')]).toEqual(['created', 'replayed']);
  });

  test('its connection breaks', async () => {
    const service = await start(PATIENT);
    unlock = await lockPlants(service.database.url);
    const outcome = post(service, 'a');
    await waitForBlocked(service.database, 'idempotency_keys');
    await terminateBlocked(service.database);
    expect(await outcome).toBe(UNKNOWN);
    await unlock();
    expect([await post(service, 'a'), await post(service, 'a')]).toEqual(['created', 'replayed']);
  });

  test('there is no database for a while', async () => {
    const service = await start();
    const { name, administer } = service.database;
    expect(await post(service, 'a')).toBe('created');
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await administer(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`);
    const away = '503 1501 The database is not available; nothing was changed. Try again later.';
    expect([await post(service, 'a'), await post(service, 'b', { id: 2, name: 'Yew' })]).toEqual([away, away]);
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    expect(await post(service, 'a')).toBe('replayed');
    expect(await post(service, 'b', { id: 2, name: 'Yew' })).toBe('created');
  });
});
