/** Imports and exports: the store compared with psql, with single requests and with Prisma. */
import { setTimeout as delay } from 'node:timers/promises';
import type { OpenTarget } from '../load/load.ts';
import { writePlantFiles } from '../plants/plant-files.ts';
import { reasonOf } from '../processes/bench-error.ts';
import { cpuSeconds, exitedChildrenCpuSeconds, memoryBytes, resetPeakMemory } from '../processes/process-tree.ts';
import { decimal, whole } from '../reports/format.ts';
import { createProgress, say } from '../reports/progress.ts';
import type { Bulk, BulkLatency, BulkMeasurement, BulkResult, Unavailable } from '../reports/results.ts';
import { LATENCY_CONNECTIONS, measureLatency } from './bulk-latency.ts';
import { type BulkSettings, type BulkTask, createBulkTasks } from './bulk-tasks.ts';
import { median } from './measure.ts';

/** Until PostgreSQL has noticed that the process of a closed connection has exited, and counts its CPU time. */
const EXIT_MS = 200;
const MILLION = 1_000_000;
/** Each measurement takes much longer than those of single requests. Every second round visits the tasks in reverse order. */
const ROUNDS = 3;
/** More rounds, because a few slow flushes of the disk decide a p99. */
const LATENCY_ROUNDS = 5;
const LATENCY = { id: 'latency', title: 'POST /plants during an import' };

type MeasureBulk = Omit<BulkSettings, 'files'> & {
  folder: string;
  /** PostgreSQL's first process, if it runs here. */
  postgresPid: number | undefined;
  rows: number;
};

type Settings = BulkSettings & Pick<MeasureBulk, 'postgresPid'>;

export const measureBulk = async ({ folder, rows, ...rest }: MeasureBulk): Promise<Bulk> => {
  say(`Writing files of ${whole(rows)} plants`);
  const settings: Settings = { ...rest, files: await writePlantFiles(folder, rows) };
  const tasks = await createBulkTasks(settings);
  const progress = createProgress(ROUNDS * tasks.length + LATENCY_ROUNDS);
  const measured = new Map<BulkTask, BulkMeasurement[]>();
  const latencies: BulkLatency[] = [];
  const unavailable: Unavailable[] = [];
  const attempt = async ({ id, title }: { id: string; title: string }, round: number, run: () => Promise<string>) => {
    const figures = await run().catch((error: unknown) => {
      settings.signal.throwIfAborted();
      unavailable.push({ target: id, title, round, reason: reasonOf(error) });
      return `cannot be measured: ${reasonOf(error)}`;
    });
    progress.step(`round ${round} · ${title} · ${figures}`);
  };
  for (let round = 1; round <= ROUNDS; round += 1) {
    const ordered = round % 2 === 0 ? tasks.toReversed() : tasks;
    for (const [index, task] of ordered.entries()) {
      const previous = ordered[index - 1];
      await attempt(task, round, async () => {
        const measurement = { round, ...(await measureTask(task, previous, settings)) };
        measured.set(task, [...(measured.get(task) ?? []), measurement]);
        return `${whole(measurement.rowsPerSecond)} rows/s`;
      });
    }
  }
  for (let round = 1; round <= LATENCY_ROUNDS; round += 1) {
    await attempt(LATENCY, round, async () => {
      const latency = { round, ...(await measureLatency(settings)) };
      latencies.push(latency);
      return `p99 ${decimal(latency.during)} ms`;
    });
  }
  const results = tasks.flatMap((task) => summarize(task, measured.get(task)));
  const latencyRatio = median(latencies.map(({ ratio }) => ratio));
  return {
    rows,
    rounds: ROUNDS,
    results,
    latencies,
    latencyRatio,
    latencyConnections: LATENCY_CONNECTIONS,
    unavailable,
  };
};

type Measured = Omit<BulkMeasurement, 'round'>;

const measureTask = async (task: BulkTask, previous: BulkTask | undefined, settings: Settings): Promise<Measured> => {
  settings.signal.throwIfAborted();
  const server = await task.server?.open();
  try {
    if (server) await task.warmUp?.(server);
    // After the server has started, because it stores a plant as it starts.
    await prepareTable(task, previous, settings);
    return await timeTask(task, server, settings);
  } finally {
    await server?.stop();
  }
};

/** Tasks that read do not change the table, so that the next one may read it as well. */
const prepareTable = async (task: BulkTask, previous: BulkTask | undefined, { table, files, signal }: Settings) => {
  const mayBeFull = task.table === 'full' && previous?.table === 'full';
  if (mayBeFull && (await table.settledCount()) >= files.rows) return;
  await table.reset();
  if (task.table === 'full') await table.fillTo(files.rows, signal);
};

const timeTask = async (task: BulkTask, server: OpenTarget | undefined, settings: Settings): Promise<Measured> => {
  const pid = server?.pid;
  const memoryBefore = memoryBytes(pid, 'VmRSS');
  resetPeakMemory(pid);
  const cpu = () => (pid === undefined ? exitedChildrenCpuSeconds() : cpuSeconds(pid));
  const postgresCpu = () => cpuSeconds(settings.postgresPid);
  const [cpuBefore, postgresBefore] = [cpu(), postgresCpu()];
  const startedAt = performance.now();
  const verify = await task.run(server);
  const elapsed = (performance.now() - startedAt) / 1000;
  const own = difference(cpuBefore, cpu());
  const memoryAfter = memoryBytes(pid, 'VmHWM');
  // So that PostgreSQL's CPU time includes all of the search index, whoever merges it.
  if (task.table === 'empty') await settings.table.mergeNames();
  await delay(EXIT_MS);
  const postgres = difference(postgresBefore, postgresCpu());
  const { rows, seconds = elapsed, mismatch } = await verify();
  if (mismatch) say(`${task.title}: ${mismatch}`);
  const perMillion = (cpu: number | undefined) => cpu && (cpu / rows) * MILLION;
  return {
    rowsPerSecond: rows / seconds,
    cpuSecondsPerMillion: perMillion(own),
    postgresCpuPerMillion: perMillion(postgres),
    memoryGrowth: task.warmUp ? undefined : difference(memoryBefore, memoryAfter),
    // A little too much for single requests: their seconds leave out the start of the load generator.
    ownCores: own && own / seconds,
    postgresCores: postgres && postgres / seconds,
    seconds,
    rows,
    mismatch,
  };
};

const difference = (before?: number, after?: number) =>
  before === undefined || after === undefined ? undefined : after - before;

const summarize = ({ id, title }: BulkTask, rounds: BulkMeasurement[] = []): BulkResult[] => {
  if (rounds.length === 0) return [];
  const medianOf = (of: (round: BulkMeasurement) => number | undefined) => median(rounds.map(of));
  const figures = {
    rowsPerSecond: medianOf((round) => round.rowsPerSecond) ?? 0,
    cpuSecondsPerMillion: medianOf((round) => round.cpuSecondsPerMillion),
    postgresCpuPerMillion: medianOf((round) => round.postgresCpuPerMillion),
    ownCores: medianOf((round) => round.ownCores),
    postgresCores: medianOf((round) => round.postgresCores),
    memoryGrowth: medianOf((round) => round.memoryGrowth),
  };
  return [{ id, title, median: figures, rounds }];
};
