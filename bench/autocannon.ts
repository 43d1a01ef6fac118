import { createRequire } from 'node:module';
import autocannon from 'autocannon';
import type { LoadGenerator, LoadResult } from './load.ts';

export const autocannonVersion: string = createRequire(import.meta.url)('autocannon/package.json').version;

/** The finalizer of splitmix64, as in wrk.lua: what goes in unique comes out unique. */
const mix = (n: bigint): bigint => {
  const a = BigInt.asUintN(64, (n ^ (n >> 30n)) * 0xbf58476d1ce4e5b9n);
  const b = BigInt.asUintN(64, (a ^ (a >> 27n)) * 0x94d049bb133111ebn);
  return BigInt.asIntN(64, b ^ (b >> 31n));
};

export const runAutocannon: LoadGenerator['run'] = async ({ url, connections, seconds, run, token, signal }) => {
  signal.throwIfAborted();
  let counter = BigInt(run) << 40n;
  const body = () => {
    counter += 1n;
    return `{"id":${mix(counter)},"name":"Monstera deliciosa","tag":"indoor"}`;
  };
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const settings: autocannon.Options = {
    url,
    connections,
    duration: seconds,
    requests: [{ method: 'POST', headers, setupRequest: (request) => ({ ...request, body: body() }) }],
  };
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>();
  const cannon = autocannon(settings, (error, result) => (error ? reject(error) : resolve(result)));
  const stop = () => cannon.stop();
  signal.addEventListener('abort', stop, { once: true });
  const result = await promise.finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  return toLoadResult(result);
};

const toLoadResult = ({ statusCodeStats = {}, errors, latency, start, finish }: autocannon.Result): LoadResult => {
  const counts = Object.entries(statusCodeStats).map(([status, stats]) => [status, stats.count ?? 0]);
  const { 200: ok = 0, ...notOk }: Record<string, number> = Object.fromEntries(counts);
  const seconds = (new Date(finish).getTime() - new Date(start).getTime()) / 1000;
  return { ok, notOk, socketErrors: errors, seconds, p50: latency.p50, p99: latency.p99 };
};
