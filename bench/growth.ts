/** How the store's cost grows with its table. */
import { truncate } from 'node:fs/promises';
import { whole } from './format.ts';
import { type Figures, type Measurement, measure, medians, nextRun } from './measure.ts';
import { median } from './median.ts';
import type { PlantsTable } from './plants-table.ts';
import { createProgress, say } from './progress.ts';
import { orderOf } from './round-order.ts';
import type { OpenTarget } from './targets.ts';
import type { TestBed } from './test-bed.ts';

const CONNECTIONS = 64;
const FIRST_WARM_UP_SECONDS = 8;
const WARM_UP_SECONDS = 1;
/** After a checkpoint: until most pages were changed once, and thus logged whole. */
const SETTLING_SECONDS = 3;
/** At each number of rows. A multiple of four, in which either side comes first as often. */
export const GROWTH_ROUNDS = 8;
/** Shares of the rows at the end. */
const STEPS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1];

type Sides<Of> = { grown: Of; empty: Of };

/** With the bytes that PostgreSQL added to its write-ahead log for each plant. */
type LoggedMeasurement = Measurement & { logBytesPerPlant: number };

export type GrowthStep = {
  rowsBefore: number;
  /** The first seconds after a checkpoint, when PostgreSQL logs each page whole that is changed for the first time. */
  afterCheckpoint: LoggedMeasurement;
  /**
   * What follows, in turns with another store, whose table is empty at the beginning of each of its turns. At no rows both
   * are. `ofEmpty`: requests a second, as a multiple of those on the empty table.
   */
  rounds: (Sides<LoggedMeasurement> & { ofEmpty: number })[];
  median: Sides<Figures> & { ofEmpty: number | undefined; logBytesPerPlant: number | undefined };
};

/** All that was measured of a step. */
export const measurementsOf = ({ afterCheckpoint, rounds }: GrowthStep): Measurement[] => [
  afterCheckpoint,
  ...rounds.flatMap(({ grown, empty }) => [grown, empty]),
];

type MeasureGrowth = {
  growing: TestBed;
  empty: TestBed;
  rows: number;
  seconds: number;
  signal: AbortSignal;
};

export const measureGrowth = async (options: MeasureGrowth): Promise<GrowthStep[]> => {
  const { growing, empty, rows, seconds, signal } = options;
  await using stack = new AsyncDisposableStack();
  const open = async ({ store, table }: TestBed): Promise<Side> => {
    const target = await store.open();
    stack.defer(target.stop);
    const side = { target, table };
    await warmUp(side, FIRST_WARM_UP_SECONDS);
    return side;
  };
  const sides: Sides<Side> = { grown: await open(growing), empty: await open(empty) };
  const progress = createProgress(STEPS.length);
  const steps: GrowthStep[] = [];
  for (const share of STEPS) {
    const wanted = Math.round(rows * share);
    await warmUp(sides.grown, WARM_UP_SECONDS);
    if (wanted === 0) await sides.grown.table.truncate();
    say(`Filling the table to ${whole(wanted)} rows`);
    await sides.grown.table.fillTo(wanted, signal);
    const step = await measureStep({ sides, staysEmpty: wanted === 0, seconds, signal });
    steps.push(step);
    progress.step(
      `growth · ${whole(step.rowsBefore)} rows · ${whole(step.median.grown.requestsPerSecond)}/s, ` +
        `${whole(step.median.empty.requestsPerSecond)}/s on the empty table`,
    );
    await Promise.all(Object.values(sides).map(cutLog));
  }
  return steps;
};

type Side = { target: OpenTarget; table: PlantsTable };

const warmUp = ({ target }: Side, seconds: number) =>
  target.load({ connections: CONNECTIONS, seconds, run: nextRun() });

/** A step's log has hundreds of megabytes. */
const cutLog = async ({ target: { logFile } }: Side) => {
  if (logFile) await truncate(logFile);
};

/** `staysEmpty`: the table that grows later is emptied as the other one is. */
type MeasureStep = { sides: Sides<Side>; staysEmpty: boolean; seconds: number; signal: AbortSignal };

const measureStep = async ({ sides, staysEmpty, seconds, signal }: MeasureStep): Promise<GrowthStep> => {
  const rowsBefore = await sides.grown.table.settledCount();
  const afterCheckpoint = await measureLogged(sides.grown, seconds);
  await warmUp(sides.grown, SETTLING_SECONDS);
  const rounds: GrowthStep['rounds'] = [];
  for (let round = 1; round <= GROWTH_ROUNDS; round += 1) {
    signal.throwIfAborted();
    // No checkpoint with it, which would be one for the grown table too.
    await sides.empty.table.truncate();
    if (staysEmpty) await sides.grown.table.truncate();
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
  const before = await side.table.logPosition();
  const measurement = await measure({ ...side, stores: true, connections: CONNECTIONS, seconds });
  const bytes = (await side.table.logPosition()) - before;
  return { ...measurement, logBytesPerPlant: bytes / (measurement.rows as number) };
};
