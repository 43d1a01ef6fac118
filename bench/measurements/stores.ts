/** `POST /plants` to one, two and three stores on one database: rate, latency, and CPU time of the stores and of PostgreSQL. */
import { BenchError } from '../command.ts';
import { type Figures, NOT_200 } from '../report.ts';
import { measureInRounds } from '../rounds.ts';
import { cpuSeconds, parentOf } from '../targets/process-tree.ts';
import { type Bench, warmUp } from './bench.ts';

const CONNECTIONS = 64;
const COUNTS = [1, 2, 3];
const PER_CPU_FIGURE = 10_000;

export const measureStores = ({ options, store, signal }: Bench) => {
  const { rounds, seconds } = options;
  const tasks = COUNTS.map((count) => ({
    title: count === 1 ? 'one store' : `${count} stores`,
    measure: () => measure(store, count, seconds),
  }));
  const title = `POST /plants to several stores, connections of all: ${CONNECTIONS}`;
  return measureInRounds([{ title, tasks }], { rounds, signal });
};

const measure = async ({ table, open }: Bench['store'], count: number, seconds: number): Promise<Figures> => {
  await using stack = new AsyncDisposableStack();
  await table.reset('all');
  const servers = await Promise.all(Array.from({ length: count }, async () => stack.use(await open())));
  await Promise.all(servers.map(warmUp));
  await table.reset();
  const { backend, deadlocks } = await table.serverState();
  // PostgreSQL's first process, if it is on this machine: the benchmark started it.
  const postmaster = process.env.DATABASE_URL ? undefined : parentOf(backend);
  const readCpu = () => ({
    stores: servers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    postgres: cpuSeconds(postmaster),
  });
  const before = readCpu();
  const results = await Promise.all(
    servers.map(({ load }) => load({ connections: Math.ceil(CONNECTIONS / count), seconds })),
  );
  const after = readCpu();
  const ok = results.reduce((sum, result) => sum + result.ok, 0);
  const rows = await table.count();
  if (rows < ok || rows > ok + CONNECTIONS + count) throw new BenchError(`${ok} answers of 200, but ${rows} rows`);
  return {
    'requests/s': results.reduce((sum, result) => sum + result.ok / result.seconds, 0),
    'highest p99 ms': Math.max(...results.map(({ p99 }) => p99)),
    [NOT_200]: results.reduce((sum, { notOk }) => sum + notOk, 0),
    deadlocks: (await table.serverState()).deadlocks - deadlocks,
    'stores CPU s/10,000': ((after.stores - before.stores) / ok) * PER_CPU_FIGURE,
    'PostgreSQL CPU s/10,000': ((after.postgres - before.postgres) / ok) * PER_CPU_FIGURE,
  };
};
