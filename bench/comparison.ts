import { reasonOf } from './bench-error.ts';
import { inConnections, whole } from './format.ts';
import { type Figures, type Measurement, measure, medians, nextRun } from './measure.ts';
import type { Options } from './options.ts';
import type { PlantsTable } from './plants-table.ts';
import { createProgress, type Progress, say } from './progress.ts';
import { orderOf } from './round-order.ts';
import type { OpenTarget, Target } from './targets.ts';

/** A new process is warmed up longer, and with as much at once as makes it compile what it runs. */
const FIRST_WARM_UP = { connections: 64, seconds: 5 };
const WARM_UP_SECONDS = 1;

/** One target at one number of connections: what each round measured, and the medians. */
export type Result = {
  target: string;
  title: string;
  connections: number;
  median: Figures;
  rounds: (Measurement & { round: number })[];
};

/** What could not be measured, and why. */
export type Unavailable = { target: string; title: string; round: number; reason: string };

export type Comparison = { results: Result[]; unavailable: Unavailable[] };

type Compare = { targets: Target[]; table: PlantsTable; options: Options; signal: AbortSignal };
type Row = { target: Target; connections: number; round: number; measurement: Measurement };

export const compare = async ({ targets, table, options, signal }: Compare): Promise<Comparison> => {
  const progress = createProgress(targets.length * options.rounds * options.connections.length);
  const rows: Row[] = [];
  const unavailable: Unavailable[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const target of orderOf(round, targets)) {
      const before = rows.length;
      const visit = { target, round, table, options, signal, progress, rows };
      await measureTarget(visit).catch((error: unknown) => {
        signal.throwIfAborted();
        const reason = reasonOf(error);
        progress.skip(options.connections.length - (rows.length - before));
        say(`${target.title} cannot be measured: ${reason}`);
        unavailable.push({ target: target.id, title: target.title, round, reason });
      });
    }
  }
  return { results: targets.flatMap((target) => summarize(target, rows, options)), unavailable };
};

type Visit = Omit<Compare, 'targets'> & { target: Target; round: number; progress: Progress; rows: Row[] };

const measureTarget = async ({ target, round, table, options, signal, progress, rows }: Visit) => {
  const open = await target.open();
  try {
    await open.load({ ...FIRST_WARM_UP, run: nextRun() });
    for (const connections of options.connections) {
      signal.throwIfAborted();
      const measurement = await measureFresh({ open, target, table, connections, seconds: options.seconds });
      rows.push({ target, connections, round, measurement });
      const speed = `${whole(measurement.requestsPerSecond)}/s`;
      progress.step(`round ${round} · ${target.title} · ${inConnections(connections)} · ${speed}`);
      if (measurement.mismatch) say(`${target.title}: ${measurement.mismatch}`);
    }
  } finally {
    await open.stop();
  }
};

type MeasureFresh = { open: OpenTarget; target: Target; table: PlantsTable; connections: number; seconds: number };

const measureFresh = async ({ open, target, table, connections, seconds }: MeasureFresh) => {
  await open.load({ connections, seconds: WARM_UP_SECONDS, run: nextRun() });
  await table.empty();
  return measure({ target: open, stores: target.stores, table, connections, seconds });
};

const summarize = (target: Target, rows: Row[], options: Options): Result[] =>
  options.connections.flatMap((connections) => {
    const rounds = rows
      .filter((row) => row.target === target && row.connections === connections)
      .map(({ round, measurement }) => ({ round, ...measurement }));
    return rounds.length === 0
      ? []
      : [{ target: target.id, title: target.title, connections, median: medians(rounds), rounds }];
  });
