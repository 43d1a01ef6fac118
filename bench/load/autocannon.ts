import { createRequire } from 'node:module';
import autocannon from 'autocannon';
import { plantOf } from '../plants/plant-names.ts';
import { randomId } from '../plants/random-id.ts';
import type { LoadGenerator, LoadResult } from './load.ts';
import { idsIn, type Read } from './reads.ts';

export const autocannonVersion: string = createRequire(import.meta.url)('autocannon/package.json').version;

export const runAutocannon: LoadGenerator['run'] = async ({ connections, seconds, signal, ...load }) => {
  signal.throwIfAborted();
  const wrong = { count: 0 };
  const request = load.reads ? readAny(load.reads, wrong) : createPlant(load.run);
  const headers = { ...request.headers, Authorization: `Bearer ${load.token}` };
  const settings = { url: load.url, connections, duration: seconds, requests: [{ ...request, headers }] };
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>();
  const cannon = autocannon(settings, (error, result) => (error ? reject(error) : resolve(result)));
  const stop = () => cannon.stop();
  signal.addEventListener('abort', stop, { once: true });
  const result = await promise.finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  return toLoadResult(result, wrong.count);
};

const createPlant = (run: number): autocannon.Request => {
  let counter = BigInt(run) << 40n;
  const body = () => {
    counter += 1n;
    const id = randomId(counter);
    // JSON.stringify cannot write a bigint.
    return `{"id":${id},${JSON.stringify(plantOf(id)).slice(1)}`;
  };
  return {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    setupRequest: (request) => ({ ...request, body: body() }),
  };
};

/** Each connection's context holds its read until the answer arrives. */
const readAny = (reads: readonly Read[], wrong: { count: number }): autocannon.Request => ({
  method: 'GET',
  setupRequest: (request, context) => {
    const read = reads[Math.floor(Math.random() * reads.length)] as Read;
    Object.assign(context, { read });
    return { ...request, path: read.path };
  },
  onResponse: (status, body, context) => {
    const { ids } = (context as { read: Read }).read;
    if (status === 200 && idsIn(body).join() !== ids.join()) wrong.count += 1;
  },
});

const toLoadResult = (result: autocannon.Result, wrong: number): LoadResult => {
  const { statusCodeStats = {}, errors, latency, start, finish } = result;
  const counts = Object.entries(statusCodeStats).map(([status, stats]) => [status, stats.count ?? 0]);
  const { 200: ok = 0, ...notOk }: Record<string, number> = Object.fromEntries(counts);
  if (wrong > 0) notOk['a wrong body'] = wrong;
  const seconds = (new Date(finish).getTime() - new Date(start).getTime()) / 1000;
  return { ok: ok - wrong, notOk, socketErrors: errors, seconds, p50: latency.p50, p99: latency.p99 };
};
