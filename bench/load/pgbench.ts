/** PostgreSQL's own benchmark: one prepared INSERT per transaction, without HTTP. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectionVariables } from '../database/connection-variables.ts';
import { plantSql } from '../plants/plant-names.ts';
import { BenchError } from '../processes/bench-error.ts';
import { runCommand, versionOf } from '../processes/command.ts';
import { type LoadResult, type OpenTarget, type Percentiles, percentiles } from './load.ts';

const { name, tag } = plantSql('id');
/** pgbench has no texts of its own: PostgreSQL makes the name and the tag. */
const INSERT = `\\set id random(0, 9223372036854775806)
INSERT INTO plants (id, name, tag) SELECT id, ${name}, ${tag} FROM (SELECT :id::bigint AS id) AS plant;
`;
const CONNECT = 'SELECT 1;\n';
const LOG_PREFIX = 'pgbench-latencies';
/** pgbench prints no percentiles. They come from its log, which is sampled to keep it cheap. */
const SAMPLING_RATE = 0.2;
const MAX_THREADS = 2;

type OpenPgbench = { databaseUrl: string; folder: string; signal: AbortSignal };

export const openPgbench = async ({ databaseUrl, folder, signal }: OpenPgbench): Promise<OpenTarget> => {
  if (!(await versionOf('pgbench'))) throw new BenchError('pgbench is not installed');
  const env = { ...process.env, ...connectionVariables(databaseUrl) };
  const run = async (script: string, args: string[]) => {
    const scriptFile = join(folder, 'pgbench.sql');
    await writeFile(scriptFile, script);
    return runCommand({ file: 'pgbench', args: ['-n', '-f', scriptFile, ...args], cwd: folder, env, signal });
  };
  const load: OpenTarget['load'] = async ({ connections, seconds }): Promise<LoadResult> => {
    const clients = ['-c', `${connections}`, '-j', `${Math.min(MAX_THREADS, connections)}`];
    // Connecting hundreds of clients takes seconds, which count as part of the duration: they are added to it.
    const connecting = await run(CONNECT, [...clients, '-t', '1']);
    const connectSeconds = Math.round(Number(/initial connection time = ([\d.]+)/.exec(connecting)?.[1] ?? 0) / 1000);
    const log = ['-l', '--log-prefix', LOG_PREFIX, '--sampling-rate', `${SAMPLING_RATE}`];
    const printed = await run(INSERT, ['-M', 'prepared', ...clients, '-T', `${seconds + connectSeconds}`, ...log]);
    const ok = Number(/actually processed: (\d+)/.exec(printed)?.[1]);
    const perSecond = Number(/^tps = ([\d.]+)/m.exec(printed)?.[1]);
    const failed = Number(/failed transactions: (\d+)/.exec(printed)?.[1] ?? 0);
    const notOk: Record<string, number> = failed > 0 ? { failed } : {};
    return { ok, notOk, socketErrors: 0, seconds: ok / perSecond, ...(await readPercentiles(folder)) };
  };
  return { load, stop: async () => {} };
};

/** The third column of the log is a transaction's latency in microseconds. */
const readPercentiles = async (folder: string): Promise<Percentiles> => {
  const files = (await readdir(folder)).filter((name) => name.startsWith(LOG_PREFIX)).map((name) => join(folder, name));
  const logs = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  await Promise.all(files.map((file) => rm(file)));
  const lines = logs.flatMap((log) => log.trim().split('\n'));
  return percentiles(lines.map((line) => Number(line.split(' ')[2]) / 1000));
};
