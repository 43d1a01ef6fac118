/** How the store's throughput changes as its table grows. */
import { truncate } from 'node:fs/promises';
import type { PlantsTable } from '../database/plants-table.ts';
import type { OpenTarget } from '../load/load.ts';
import { whole } from '../reports/format.ts';
import { createProgress, say } from '../reports/progress.ts';
import type { GrowthStep, LoggedMeasurement, Sides } from '../reports/results.ts';
import { measure, median, medians, orderOf, warmUp } from './measure.ts';
import type { TestBed } from './test-bed.ts';

const CONNECTIONS = 64;
const FIRST_WARM_UP = { connections: CONNECTIONS, seconds: 8 };
const WARM_UP = { connections: CONNECTIONS, seconds: 1 };
/** After a checkpoint: until most pages have been changed once, and so logged as a whole. */
const SETTLING = { connections: CONNECTIONS, seconds: 3 };
/** A multiple of four, so that both sides come first equally often. */
const ROUNDS = 8;
/** Shares of the final number of rows. */
const STEPS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1];

type Side = { target: OpenTarget; table: PlantsTable };

type MeasureGrowth = { grown: TestBed; empty: TestBed; rows: number; seconds: number; signal: AbortSignal };

export const measureGrowth = async ({ rows, seconds, signal, ...beds }: MeasureGrowth): Promise<GrowthStep[]> => {
  await using stack = new AsyncDisposableStack();
  const open = async ({ store, table }: TestBed): Promise<Side> => {
    const target = stack.adopt(await store.open(), ({ stop }) => stop());
    await warmUp(target, FIRST_WARM_UP);
    return { target, table };
  };
  const sides: Sides<Side> = { grown: await open(beds.grown), empty: await open(beds.empty) };
  const { target, table } = sides.grown;
  const progress = createProgress(STEPS.length);
  const steps: GrowthStep[] = [];
  for (const share of STEPS) {
    const wanted = Math.round(rows * share);
    await warmUp(target, WARM_UP);
    if (wanted === 0) await table.truncate();
    say(`Filling the table to ${whole(wanted)} rows`);
    await table.fillTo(wanted, signal);
    const step = await measureStep({ sides, bothEmpty: wanted === 0, seconds, signal });
    steps.push(step);
    const { grown, empty } = step.median;
    const speeds = `${whole(grown.requestsPerSecond)}/s, ${whole(empty.requestsPerSecond)}/s with the empty table`;
    progress.step(`growth · ${whole(step.rowsBefore)} rows · ${speeds}`);
    await Promise.all(Object.values(sides).map(truncateLog));
  }
  return steps;
};

/** Each step logs hundreds of megabytes. */
const truncateLog = async ({ target: { logFile } }: Side) => {
  if (logFile) await truncate(logFile);
};

type MeasureStep = { sides: Sides<Side>; bothEmpty: boolean; seconds: number; signal: AbortSignal };

const measureStep = async ({ sides, bothEmpty, seconds, signal }: MeasureStep): Promise<GrowthStep> => {
  const rowsBefore = await sides.grown.table.settledCount();
  const afterCheckpoint = await measureLogged(sides.grown, seconds);
  await warmUp(sides.grown.target, SETTLING);
  const rounds: GrowthStep['rounds'] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    signal.throwIfAborted();
    // Without a checkpoint, which would affect the grown table too.
    await sides.empty.table.truncate();
    if (bothEmpty) await sides.grown.table.truncate();
    const measured: Partial<Sides<LoggedMeasurement>> = {};
    for (const side of orderOf(round, ['grown', 'empty'] as const))
      measured[side] = await measureLogged(sides[side], seconds);
    const { grown, empty } = measured as Sides<LoggedMeasurement>;
    rounds.push({ grown, empty, ofEmpty: grown.requestsPerSecond / empty.requestsPerSecond });
  }
  return {
    rowsBefore,
    afterCheckpoint,
    rounds,
    median: {
      grown: medians(rounds.map(({ grown }) => grown)),
      empty: medians(rounds.map(({ empty }) => empty)),
      ofEmpty: median(rounds.map(({ ofEmpty }) => ofEmpty)),
      logBytesPerPlant: median(rounds.map(({ grown }) => grown.logBytesPerPlant)),
    },
  };
};

const measureLogged = async (side: Side, seconds: number): Promise<LoggedMeasurement> => {
  const before = await side.table.walPosition();
  const measurement = await measure({ ...side, stores: true, connections: CONNECTIONS, seconds });
  const bytes = (await side.table.walPosition()) - before;
  return { ...measurement, logBytesPerPlant: bytes / (measurement.rows as number) };
};
