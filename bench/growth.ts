/** How the store's cost grows with its table. */
import { medians } from './comparison.ts';
import { whole } from './format.ts';
import { type Figures, type Measurement, measure, nextRun } from './measure.ts';
import { median } from './median.ts';
import type { PlantsTable } from './plants-table.ts';
import { createProgress, say } from './progress.ts';
import { orderOf } from './round-order.ts';
import type { OpenTarget } from './targets.ts';
import type { TestBed } from './test-bed.ts';

const CONNECTIONS = 64;
const FIRST_WARM_UP_SECONDS = 8;
/** After a checkpoint: until most pages were changed once, and thus logged whole. */
const SETTLING_SECONDS = 3;
/** At each number of rows. */
export const GROWTH_ROUNDS = 5;
/** Shares of the rows at the end. Of none the two stores are alike: what they differ by is the measurement's error. */
const STEPS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1];

type Sides<Of> = { grown: Of; empty: Of };

export type GrowthStep = {
  rowsBefore: number;
  /** The first seconds after a checkpoint, when PostgreSQL logs each page whole that is changed for the first time. */
  afterCheckpoint: Measurement;
  /** What follows, in turns with another store, whose table is empty at the beginning of each of its turns. */
  rounds: Sides<Measurement[]>;
  median: Sides<Figures>;
  /** Requests a second, as a multiple of those on the empty table in the same round: the median. */
  ofEmpty: number | undefined;
};

type MeasureGrowth = {
  growing: TestBed;
  empty: TestBed;
  rows: number;
  seconds: number;
  signal: AbortSignal;
};

export const measureGrowth = async ({
  growing,
  empty,
  rows,
  seconds,
  signal,
}: MeasureGrowth): Promise<GrowthStep[]> => {
  await using stack = new AsyncDisposableStack();
  const open = async ({ store, table }: TestBed): Promise<Side> => {
    const target = await store.open();
    stack.defer(target.stop);
    await target.load({ connections: CONNECTIONS, seconds: FIRST_WARM_UP_SECONDS, run: nextRun() });
    await table.truncate();
    return { target, table };
  };
  const sides: Sides<Side> = { grown: await open(growing), empty: await open(empty) };
  const progress = createProgress(STEPS.length);
  const steps: GrowthStep[] = [];
  for (const share of STEPS) {
    const wanted = Math.round(rows * share);
    say(`Filling the table to ${whole(wanted)} rows`);
    await sides.grown.table.fillTo(wanted, signal);
    const step = await measureStep({ sides, seconds, signal });
    steps.push(step);
    const speed = `${whole(step.median.grown.requestsPerSecond)}/s, ${whole(step.median.empty.requestsPerSecond)}/s on the empty table`;
    progress.step(`growth · ${whole(step.rowsBefore)} rows · ${speed}`);
  }
  // Awaited here: what the stack holds is let go when this function returns.
  return steps;
};

type Side = { target: OpenTarget; table: PlantsTable };
type MeasureStep = { sides: Sides<Side>; seconds: number; signal: AbortSignal };

const measureStep = async ({ sides, seconds, signal }: MeasureStep): Promise<GrowthStep> => {
  const load = (side: Side) => measure({ ...side, stores: true, connections: CONNECTIONS, seconds });
  const rowsBefore = await sides.grown.table.settledCount();
  const afterCheckpoint = await load(sides.grown);
  await sides.grown.target.load({ connections: CONNECTIONS, seconds: SETTLING_SECONDS, run: nextRun() });
  const rounds: Sides<Measurement[]> = { grown: [], empty: [] };
  for (let round = 1; round <= GROWTH_ROUNDS; round += 1) {
    signal.throwIfAborted();
    // No checkpoint with it, which would be one for the grown table too.
    await sides.empty.table.truncate();
    for (const side of orderOf(round, ['grown', 'empty'] as const)) rounds[side].push(await load(sides[side]));
  }
  const ofEmpty = ({ requestsPerSecond }: Measurement, index: number) =>
    requestsPerSecond / (rounds.empty[index]?.requestsPerSecond ?? Number.NaN);
  return {
    rowsBefore,
    afterCheckpoint,
    rounds,
    median: { grown: medians(rounds.grown), empty: medians(rounds.empty) },
    ofEmpty: median(rounds.grown.map(ofEmpty)),
  };
};
