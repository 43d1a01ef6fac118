/** The store's memory at full load over minutes: it should stay flat. */
import { truncate } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { mebibytes } from './format.ts';
import { type Measurement, measure, nextRun } from './measure.ts';
import { median } from './median.ts';
import type { PlantsTable } from './plants-table.ts';
import { currentMemory } from './process-tree.ts';
import { say } from './progress.ts';
import type { Target } from './targets.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 5;
const SAMPLE_INTERVAL_MS = 1000;
/** The log is cut short this often: minutes at full load write gigabytes. */
const LOG_CUT_SECONDS = 30;
const SAYING_SECONDS = 60;

/** Memory in bytes. The first and the last fifth of the samples tell whether it grows. */
export type Soak = Measurement & { samples: number[]; firstFifth: number | undefined; lastFifth: number | undefined };

type RunSoak = { store: Target; table: PlantsTable; minutes: number; signal: AbortSignal };

export const runSoak = async ({ store, table, minutes, signal }: RunSoak): Promise<Soak> => {
  const target = await store.open();
  const ended = new AbortController();
  try {
    await target.load({ connections: CONNECTIONS, seconds: WARM_UP_SECONDS, run: nextRun() });
    await table.empty();
    say(`Full load for ${minutes} min, memory each second`);
    const sampling = sampleMemory({ pid: target.pid ?? 0, logFile: target.logFile ?? '', ended: ended.signal });
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
    const memory = currentMemory(pid);
    if (memory !== undefined) samples.push(memory);
    if (samples.length % LOG_CUT_SECONDS === 0) await truncate(logFile);
    if (samples.length % SAYING_SECONDS === 0) say(`soak · ${samples.length / 60} min · ${mebibytes(memory)} MiB`);
  }
  return samples;
};
