/** PostgreSQL's own benchmark: one prepared INSERT per transaction, without HTTP. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../command.ts';
import { libpqVariables } from '../database/database.ts';
import { nameSql, tagSql } from '../database/plant-sql.ts';
import type { Load, LoadResult } from './load.ts';

/** pgbench has no texts of its own: PostgreSQL makes the name and the tag, which takes it about 2 µs. */
const INSERT = `\\set id random(0, 9223372036854775806)
INSERT INTO plants (id, name, tag) SELECT id, ${nameSql}, ${tagSql} FROM (SELECT :id::bigint AS id) AS plant;
`;
const LOG_PREFIX = 'pgbench-latencies';
/** pgbench prints no percentiles. They come from its log, which is sampled to keep it cheap. */
const LOG = ['--log', '--log-prefix', LOG_PREFIX, '--sampling-rate', '0.2'];
const MAX_THREADS = 2;

type Pgbench = { databaseUrl: string; folder: string; signal: AbortSignal };

export const runPgbench = async ({ connections, seconds }: Load, settings: Pgbench): Promise<LoadResult> => {
  const { databaseUrl, folder, signal } = settings;
  const script = join(folder, 'pgbench.sql');
  await writeFile(script, INSERT);
  const size = ['-c', `${connections}`, '-j', `${Math.min(MAX_THREADS, connections)}`, '-T', `${seconds}`];
  const args = ['--no-vacuum', '--file', script, '--protocol', 'prepared', ...size, ...LOG];
  const printed = await runCommand({ file: 'pgbench', args, cwd: folder, env: libpqVariables(databaseUrl), signal });
  const ok = Number(/actually processed: (\d+)/.exec(printed)?.[1]);
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(printed)?.[1]);
  const notOk = Number(/failed transactions: (\d+)/.exec(printed)?.[1] ?? 0);
  return { ok, notOk, seconds: ok / perSecond, ...(await readPercentiles(folder)) };
};

/** The third column of the log is a transaction's latency in microseconds. */
const readPercentiles = async (folder: string) => {
  const files = (await readdir(folder)).filter((name) => name.startsWith(LOG_PREFIX)).map((name) => join(folder, name));
  const logs = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  await Promise.all(files.map((file) => rm(file)));
  const lines = logs.flatMap((log) => log.trim().split('\n'));
  const latencies = Float64Array.from(lines, (line) => Number(line.split(' ')[2]) / 1000).sort();
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
};
