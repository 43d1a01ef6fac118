import { versionOf } from './command.ts';
import type { Read } from './read.ts';

export type Load = {
  connections: number;
  seconds: number;
  /** Never the same twice on one table: ids are made from it. */
  run: number;
  /** What to GET, at random; without it plants are created. */
  reads?: readonly Read[] | undefined;
};

/**
 * What clients saw. Latencies are in milliseconds; `notOk` counts answers by status, and those of 200 that hold
 * something else than was asked for; `socketErrors` the requests that got none, or none within 10 s.
 */
export type LoadResult = {
  ok: number;
  notOk: Record<string, number>;
  socketErrors: number;
  seconds: number;
  p50: number;
  p99: number;
};

export type LoadGenerator = {
  /** Its name and version, for the report. */
  name: string;
  run: (load: Load & { url: string; token: string; signal: AbortSignal }) => Promise<LoadResult>;
};

/** wrk where it is installed: it takes less of the CPU from the server than a load generator on Node. */
export const chooseLoadGenerator = async (folder: string): Promise<LoadGenerator> => {
  const wrk = await versionOf('wrk', '--version');
  if (wrk) {
    const { runWrk } = await import('./wrk.ts');
    return { name: wrk.replace(/ Copyright.*/, ''), run: (load) => runWrk(load, folder) };
  }
  const { autocannonVersion, runAutocannon } = await import('./autocannon.ts');
  return { name: `autocannon ${autocannonVersion}`, run: runAutocannon };
};
