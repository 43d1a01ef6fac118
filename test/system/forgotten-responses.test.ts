import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

let unlock = async () => {};
afterEach(() => unlock());
// After the lock is released, as a service waits for its requests.
const start = useTestServices();

/** So long that no response is caused by a timeout. */
const PATIENT = { REQUEST_TIMEOUT: '3600' };

/** @returns the responses to all requests from now on, as long as they are in memory */
const watchResponses = () => {
  const responses: WeakRef<ServerResponse>[] = [];
  const note = (message: unknown) =>
    responses.push(new WeakRef((message as { request: IncomingMessage; response: ServerResponse }).response));
  subscribe('http.server.request.start', note);
  return { responses, stop: () => unsubscribe('http.server.request.start', note) };
};

/** Prisma keeps so many notes for its log, among them errors, whose stack traces hold what failed, such as a batch of requests. */
const PRISMA_NOTES = 100;

const expectReleased = async (service: TestService, responses: WeakRef<ServerResponse>[]) => {
  // Each request adds a note, which replaces the oldest.
  for (let sent = 0; sent < 2 * PRISMA_NOTES; sent++) await service.request('get', `/plants/${sent}`);
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as (options: object) => void;
  return waitUntil('the release of the responses', () => {
    // As before memory is exhausted: what V8 only caches is collected, too.
    collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    return responses.filter((response) => response.deref() !== undefined).length <= 0;
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
    await expectReleased(service, responses);
  });

  test('are forgotten once their clients have left', async () => {
    const service = await start(PATIENT);
    const { responses, statuses, leave } = await sendAll(service);
    leave();
    expect(new Set(await Promise.all(statuses))).toEqual(new Set(['none']));
    await unlock();
    await expectReleased(service, responses);
    // Whether the request had been sent to PostgreSQL or not.
    expect((await service.post({ id: 1, name: 'Fir' }, { 'Idempotency-Key': 'key-1' })).status).toBe(200);
  });
});
