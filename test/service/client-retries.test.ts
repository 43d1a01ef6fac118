import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { createPlantClient } from '../../client/plant-client.ts';
import { createRetryingFetch } from '../../client/retry.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const noKeys = onCitus('keys are refused');
const service = useTestService();

describe('retries', () => {
  const body = { id: 1n, name: 'Fir' };
  /** A client whose attempts have these outcomes, then those of the service. Pauses take no time. */
  const createRetrying = (outcomes: (Response | Error | 'lost')[], random = 1) => {
    const sent: { key: string | null; body: string }[] = [];
    const pauses: number[] = [];
    const attempt = async (request: Request) => {
      sent.push({ key: request.headers.get('Idempotency-Key'), body: await request.clone().text() });
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      if (outcome instanceof Response) return outcome;
      const response = await fetch(request);
      if (outcome === 'lost') throw new TypeError('fetch failed');
      return response;
    };
    const pause = async (milliseconds: number) => void pauses.push(milliseconds);
    const retrying = createRetryingFetch({ fetch: attempt, pause, random: () => random });
    const { baseUrl, token } = service;
    return { sent, pauses, plants: createPlantClient({ baseUrl, token, fetch: retrying, retry: false }) };
  };
  const answer = (status: number, headers: Record<string, string> = {}) =>
    new Response('{"error":1500,"message":"Busy."}', { status, headers });

  testUnless(noKeys, 'a change whose response was lost is sent again with its key, and carried out once', async () => {
    const { plants, sent, pauses } = createRetrying([
      new TypeError('fetch failed'),
      'lost',
      answer(503, { 'Retry-After': '1' }),
      answer(429, { 'Retry-After': '7' }),
    ]);
    const { data, response } = await plants.POST('/plants', { body });
    expect([data, response.headers.get('Idempotent-Replayed')]).toEqual([{ name: 'Fir' }, 'true']);
    expect(sent).toHaveLength(5);
    expect(new Set(sent.map((request) => JSON.stringify(request))).size).toBe(1);
    expect(sent[0]?.key).toMatch(/^[0-9a-f]{32}$/);
    expect(pauses).toEqual([250, 500, 2000, 9000]);
  });

  testUnless(noKeys, 'so is one whose connection was lost within the response', async () => {
    const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
    const { plants, sent } = createRetrying([new Response(cut, { headers: { 'Content-Type': 'application/json' } })]);
    expect((await plants.POST('/plants', { body: { id: 77n, name: 'Fir' } })).data).toEqual({ name: 'Fir' });
    expect(sent).toHaveLength(2);
  });

  test('half of a pause is random, but none of the time that the service asks for', async () => {
    const { plants, pauses } = createRetrying([answer(503), answer(429, { 'Retry-After': '7' })], 0);
    await plants.GET('/plants');
    expect(pauses).toEqual([125, 7250]);
  });

  test('Retry-After may be a date, as from a proxy', async () => {
    const date = new Date(Date.now() + 30_000).toUTCString();
    const { plants, pauses } = createRetrying([
      answer(503, { 'Retry-After': date }),
      answer(503, { 'Retry-After': '0' }),
    ]);
    await plants.GET('/plants');
    expect(pauses).toEqual([expect.any(Number), 500]);
    expect(pauses[0]).toBeGreaterThan(20_000);
    expect(pauses[0]).toBeLessThanOrEqual(30_250);
  });

  test('an import is sent once: the service ignores its key', async () => {
    const { plants, sent } = createRetrying([answer(503)]);
    const { response } = await plants.POST('/plants/import', { body: [{ id: 1n, name: 'Fir' }] });
    expect([response.status, sent.length]).toEqual([503, 1]);
  });

  test('six attempts at most; the last response or error is the result', async () => {
    const busy = createRetrying(
      Array(7)
        .fill(null)
        .map(() => answer(503)),
    );
    expect((await busy.plants.GET('/plants')).response.status).toBe(503);
    expect(busy.sent.map(({ key }) => key)).toEqual(Array(6).fill(null));
    const lost = createRetrying(Array(7).fill(new TypeError('fetch failed')));
    await expect(lost.plants.POST('/plants', { body })).rejects.toThrow('fetch failed');
    expect(lost.sent).toHaveLength(6);
  });

  test.each([400, 401, 404, 409, 422, 500])('%i is not repeated', async (status) => {
    const { plants, sent } = createRetrying([answer(status)]);
    expect((await plants.POST('/plants', { body })).response.status).toBe(status);
    expect(sent).toHaveLength(1);
  });

  test.each(['DELETE', 'PATCH'] as const)('a %s of many plants has no key and is not repeated', async (method) => {
    const { plants, sent } = createRetrying([answer(503)]);
    const params = { query: { tag: 'x', limit: 1 } };
    const { response } =
      method === 'PATCH' ? await plants.PATCH('/plants', { params, body }) : await plants.DELETE('/plants', { params });
    expect([response.status, sent.map(({ key }) => key)]).toEqual([503, [null]]);
  });

  test('a pause of more than a minute is not waited for', async () => {
    const { plants, sent } = createRetrying([answer(429, { 'Retry-After': '61' })]);
    expect((await plants.POST('/plants', { body })).response.status).toBe(429);
    expect(sent).toHaveLength(1);
  });

  test('a signal ends an attempt and a pause; a new change has a new key; an own key is kept', async () => {
    const keys: (string | null)[] = [];
    const plants = createPlantClient({
      baseUrl: 'http://127.0.0.1:1',
      token: '',
      fetch: async ({ headers }) => {
        keys.push(headers.get('Idempotency-Key'));
        return answer(503, { 'Retry-After': '50' });
      },
    });
    for (const key of [undefined, undefined, 'mine']) {
      const controller = new AbortController();
      const params = { header: { ...(key && { 'Idempotency-Key': key }) } };
      const change = plants.POST('/plants', { body, params, signal: controller.signal });
      await waitUntil('the attempt', () => keys.length > 0);
      controller.abort(new Error('enough'));
      await expect(change).rejects.toThrow('enough');
      expect(keys).toHaveLength(1);
      expect(keys[0]).toEqual(key ?? expect.stringMatching(/^[0-9a-f]{32}$/));
      keys.length = 0;
    }
  });
});

test('an export is passed on before all of it is there', async () => {
  let chunks = 0;
  const body = new ReadableStream({
    pull: (controller) => {
      controller.enqueue(new Uint8Array(1));
      if (++chunks === 100) controller.close();
    },
  });
  const url = 'http://127.0.0.1:1/plants/export';
  const response = Object.defineProperty(new Response(body), 'url', { value: url });
  const retryingFetch = createRetryingFetch({ fetch: async () => response });
  expect(await retryingFetch(new Request(url))).toBe(response);
  expect(chunks).toBeLessThan(100);
});

test('a signal that is aborted while a response is dropped ends the pause after it', async () => {
  const controller = new AbortController();
  let attempts = 0;
  const retryingFetch = createRetryingFetch({
    fetch: async () => {
      attempts += 1;
      const body = new ReadableStream({ cancel: () => controller.abort(new Error('enough')) });
      return new Response(body, { status: 503, headers: { 'Retry-After': '5' } });
    },
  });
  const request = new Request('http://127.0.0.1:1', { signal: controller.signal });
  await expect(retryingFetch(request)).rejects.toThrow('enough');
  expect(attempts).toBe(1);
});

test('a program whose signal ends a pause ends without waiting for the rest of it', async () => {
  const program = `
    import { createRetryingFetch } from '${new URL('../../client/retry.ts', import.meta.url)}';
    const controller = new AbortController();
    const retryingFetch = createRetryingFetch({
      fetch: async () => {
        setImmediate(() => controller.abort('enough'));
        return new Response('', { status: 503, headers: { 'Retry-After': '60' } });
      },
    });
    const request = new Request('http://127.0.0.1:1', { signal: controller.signal });
    await retryingFetch(request).catch(console.log);`;
  const words = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 20_000 });
  expect(stdout).toBe('enough\n');
});
