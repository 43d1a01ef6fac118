/** The store's memory during minutes of full load. It should stay flat. */
import { truncate } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlantsTable } from '../database/plants-table.ts';
import { memoryBytes } from '../processes/process-tree.ts';
import { mebibytes } from '../reports/format.ts';
import { say } from '../reports/progress.ts';
import type { Soak } from '../reports/results.ts';
import { measure, median, warmUp } from './measure.ts';
import type { Target } from './targets.ts';

const CONNECTIONS = 64;
const WARM_UP = { connections: CONNECTIONS, seconds: 5 };
const SAMPLE_INTERVAL_MS = 1000;
/** Minutes at full load write gigabytes of log, so that it is truncated this often. */
const TRUNCATE_LOG_SECONDS = 30;
const PROGRESS_SECONDS = 60;

type RunSoak = { store: Target; table: PlantsTable; minutes: number; signal: AbortSignal };

export const runSoak = async ({ store, table, minutes, signal }: RunSoak): Promise<Soak> => {
  const target = await store.open();
  const ended = new AbortController();
  try {
    await warmUp(target, WARM_UP);
    await table.reset();
    say(`Full load for ${minutes} min, sampling memory each second`);
    const { pid = 0, logFile = '' } = target;
    const sampling = sampleMemory({ pid, logFile, ended: ended.signal });
    const load = measure({ target, stores: true, table, connections: CONNECTIONS, seconds: Math.ceil(minutes * 60) });
    const measurement = await load.finally(() => ended.abort());
    const samples = await sampling;
    signal.throwIfAborted();
    const fifth = Math.ceil(samples.length / 5);
    const [firstFifth, lastFifth] = [median(samples.slice(0, fifth)), median(samples.slice(-fifth))];
    return { ...measurement, samples, firstFifth, lastFifth };
  } finally {
    await target.stop();
  }
};

const sampleMemory = async ({ pid, logFile, ended }: { pid: number; logFile: string; ended: AbortSignal }) => {
  const samples: number[] = [];
  const nextSecond = () => delay(SAMPLE_INTERVAL_MS, true, { signal: ended }).catch(() => false);
  while (await nextSecond()) {
    const memory = memoryBytes(pid, 'VmRSS');
    if (memory !== undefined) samples.push(memory);
    if (samples.length % TRUNCATE_LOG_SECONDS === 0) await truncate(logFile);
    if (samples.length % PROGRESS_SECONDS === 0) say(`soak · ${samples.length / 60} min · ${mebibytes(memory)} MiB`);
  }
  return samples;
};
