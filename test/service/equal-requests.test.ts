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

describe('a key whose first request fails because of the database can be sent again', () => {
  const UNKNOWN =
    '503 1501 The database was lost or took too long. The outcome is unknown. Send the request again, with its ' +
    'Idempotency-Key if it has one; if not, code 1004 then means that the plant was stored.';

  test('its statement takes too long', async () => {
    const service = await start(PATIENT, { requestLimits: { statementTimeout: 4000 } });
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
