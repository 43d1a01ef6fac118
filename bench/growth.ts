/** How the store's cost grows with its table. */
import { whole } from './format.ts';
import { type Measurement, measure, nextRun } from './measure.ts';
import type { PlantsTable } from './plants-table.ts';
import { createProgress, say } from './progress.ts';
import type { Target } from './targets.ts';

const CONNECTIONS = 64;
const FIRST_WARM_UP_SECONDS = 8;
const WARM_UP_SECONDS = 1;
/** Shares of the rows at the end; the last 0 is the empty table again, to tell growth from a drifting machine. */
const STEPS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 0];

export type GrowthStep = Measurement & { rowsBefore: number };

type MeasureGrowth = { store: Target; table: PlantsTable; rows: number; seconds: number; signal: AbortSignal };

export const measureGrowth = async ({ store, table, rows, seconds, signal }: MeasureGrowth): Promise<GrowthStep[]> => {
  const progress = createProgress(STEPS.length);
  const target = await store.open();
  try {
    const warmUp = (warmUpSeconds: number) =>
      target.load({ connections: CONNECTIONS, seconds: warmUpSeconds, run: nextRun() });
    await warmUp(FIRST_WARM_UP_SECONDS);
    const steps: GrowthStep[] = [];
    for (const share of STEPS) {
      const wanted = Math.round(rows * share);
      await warmUp(WARM_UP_SECONDS);
      if (share === 0) await table.empty();
      say(`Filling the table to ${whole(wanted)} rows`);
      await table.fillTo(wanted, signal);
      const rowsBefore = await table.settledCount();
      const measurement = await measure({ target, stores: true, table, connections: CONNECTIONS, seconds });
      steps.push({ rowsBefore, ...measurement });
      progress.step(`growth · ${whole(rowsBefore)} rows · ${whole(measurement.requestsPerSecond)}/s`);
    }
    return steps;
  } finally {
    await target.stop();
  }
};
