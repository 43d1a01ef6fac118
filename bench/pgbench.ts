/** PostgreSQL's own benchmark: one prepared INSERT a transaction, without HTTP and without a server between. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { runCommand, versionOf } from './command.ts';
import type { Load, LoadResult } from './load.ts';
import type { OpenTarget, Setting } from './targets.ts';

const script = join(import.meta.dirname, 'pgbench.sql');
const connectScript = join(import.meta.dirname, 'pgbench-connect.sql');
const LOG_PREFIX = 'pgbench-latencies';
/** pgbench names no percentiles: a sample of its log gives them, at little cost to it. */
const SAMPLING_RATE = 0.2;
const MAX_THREADS = 2;

export const openPgbench = async ({ databaseUrl, folder, signal }: Setting): Promise<OpenTarget> => {
  if (!(await versionOf('pgbench', '--version'))) throw new BenchError('pgbench is not installed');
  const env = { ...process.env, ...connectionVariables(databaseUrl) };
  const run: RunProgram = async (...args) =>
    (await runCommand({ file: 'pgbench', args: ['-n', ...args], cwd: folder, env, signal })).stdout;
  return {
    load: (load) => runPgbench({ load, run, folder }),
    // It is a client: there is no server process whose figures would compare.
    cpuSeconds: () => undefined,
    peakMemory: () => undefined,
    stop: async () => {},
  };
};

type RunProgram = (...args: string[]) => Promise<string>;

const runPgbench = async ({
  load,
  run,
  folder,
}: {
  load: Load;
  run: RunProgram;
  folder: string;
}): Promise<LoadResult> => {
  const clients = ['-c', `${load.connections}`, '-j', `${Math.min(MAX_THREADS, load.connections)}`];
  const seconds = load.seconds + (await connectSeconds(run, clients));
  const log = ['-l', '--log-prefix', LOG_PREFIX, '--sampling-rate', `${SAMPLING_RATE}`];
  const printed = await run('-M', 'prepared', '-f', script, ...clients, '-T', `${seconds}`, ...log);
  const ok = Number(/actually processed: (\d+)/.exec(printed)?.[1]);
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(printed)?.[1]);
  const failed = Number(/failed transactions: (\d+)/.exec(printed)?.[1] ?? 0);
  const notOk: Record<string, number> = failed > 0 ? { failed } : {};
  return { ok, notOk, socketErrors: 0, seconds: ok / perSecond, ...(await readPercentiles(folder)) };
};

/** Its clock runs while it connects, which takes seconds for hundreds of clients: the time comes on top. */
const connectSeconds = async (run: RunProgram, clients: string[]): Promise<number> => {
  const printed = await run('-f', connectScript, ...clients, '-t', '1');
  const milliseconds = Number(/initial connection time = ([\d.]+)/.exec(printed)?.[1] ?? 0);
  return Math.round(milliseconds / 1000);
};

/** libpq's variables: a password among the arguments could be read by every account of the machine. */
const connectionVariables = (databaseUrl: string) => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
  };
};

/** The log's third column is a transaction's time in microseconds. */
const readPercentiles = async (folder: string): Promise<{ p50: number; p99: number }> => {
  const files = (await readdir(folder)).filter((name) => name.startsWith(LOG_PREFIX)).map((name) => join(folder, name));
  const logs = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  await Promise.all(files.map((file) => rm(file)));
  const lines = logs.flatMap((log) => log.trim().split('\n'));
  const times = Float64Array.from(lines, (line) => Number(line.split(' ')[2])).sort();
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? Number.NaN) / 1000;
  return { p50: at(0.5), p99: at(0.99) };
};
