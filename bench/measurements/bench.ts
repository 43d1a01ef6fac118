/** What all measurements use. */
import { BenchError } from '../command.ts';
import type { LoadResult, OpenTarget, Target } from '../load/load.ts';
import type { Options } from '../options.ts';
import { NOT_200 } from '../report.ts';
import { cpuSeconds, mebibytes } from '../targets/process-tree.ts';
import type { Store } from '../targets/store.ts';

const PER_CPU_FIGURE = 10_000;

export type Bench = {
  options: Options;
  store: Store;
  /** The store and, with `--compare`, the other one. */
  stores: Store[];
  /** What the store is compared with. */
  peers: Target[];
  folder: string;
  signal: AbortSignal;
};

/** For a new process: long enough, and with enough connections, to make V8 compile what runs often. */
export const warmUp = (open: OpenTarget) => open.load({ connections: 64, seconds: 5 });

type Creation = { connections: number; seconds: number; withKeys?: boolean; until?: Promise<unknown> };

/** Creates plants, and counts the rows. @throws {BenchError} unless each answer of 200 is a row */
export const createPlants = async ({ table, indexes }: Target, open: OpenTarget, load: Creation) => {
  const rowsBefore = await table.count();
  const cpuBefore = cpuSeconds(open.pid);
  const result = await open.load(load);
  const cpu = cpuSeconds(open.pid) - cpuBefore;
  if (indexes !== 'none') compareRows(result, (await table.count()) - rowsBefore, load.connections);
  return {
    ...figuresOf(result),
    [`CPU s/${PER_CPU_FIGURE.toLocaleString('en')}`]: (cpu / result.ok) * PER_CPU_FIGURE,
    'peak MiB': mebibytes('VmHWM', open.pid),
  };
};

/** There may be one more row per connection: when the load ends, each has a request whose answer nobody reads. */
const compareRows = ({ ok, notOk }: LoadResult, rows: number, connections: number) => {
  if (ok === 0) throw new BenchError(`no request was answered with 200, and ${notOk} otherwise`);
  if (rows < ok || rows > ok + connections) throw new BenchError(`${ok} answers of 200, but ${rows} rows`);
};

export const figuresOf = ({ ok, notOk, seconds, p50, p99 }: LoadResult) => ({
  'requests/s': ok / seconds,
  'p50 ms': p50,
  'p99 ms': p99,
  [NOT_200]: notOk,
});

export const secondsOf = async (action: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await action();
  return (performance.now() - startedAt) / 1000;
};
