/** `POST /plants`: the store and its peers, at several numbers of connections. */
import type { PlantsTable } from '../database/plants-table.ts';
import { reasonOf } from '../processes/bench-error.ts';
import { inConnections, whole } from '../reports/format.ts';
import { createProgress, type Progress, say } from '../reports/progress.ts';
import type { Comparison, Unavailable } from '../reports/results.ts';
import { measure, orderOf, type Round, summarize, warmUp } from './measure.ts';
import type { Target } from './targets.ts';

/** For a new process: long enough, and with enough connections, to make V8 compile what runs often. */
const FIRST_WARM_UP = { connections: 64, seconds: 5 };
const WARM_UP_SECONDS = 1;

type Settings = {
  table: PlantsTable;
  rounds: number;
  connections: readonly number[];
  seconds: number;
  signal: AbortSignal;
};

export const compare = async (targets: Target[], settings: Settings): Promise<Comparison> => {
  const { rounds, connections, signal } = settings;
  const progress = createProgress(targets.length * rounds * connections.length);
  const measured: Round[] = [];
  const unavailable: Unavailable[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const target of orderOf(round, targets)) {
      const before = measured.length;
      await measureTarget({ ...settings, target, round, progress, measured }).catch((error: unknown) => {
        signal.throwIfAborted();
        const reason = reasonOf(error);
        progress.skip(connections.length - (measured.length - before));
        say(`${target.title} cannot be measured: ${reason}`);
        unavailable.push({ target: target.id, title: target.title, round, reason });
      });
    }
  }
  return { results: summarize(measured), unavailable };
};

type MeasureTarget = Settings & { target: Target; round: number; progress: Progress; measured: Round[] };

const measureTarget = async ({ target, round, progress, measured, ...settings }: MeasureTarget) => {
  const { table, seconds, signal } = settings;
  const { id, title, indexes } = target;
  const stores = indexes !== 'none';
  const open = await target.open();
  try {
    const reset = () => table.reset(stores ? indexes : undefined);
    await reset();
    await warmUp(open, FIRST_WARM_UP);
    for (const connections of settings.connections) {
      signal.throwIfAborted();
      await warmUp(open, { connections, seconds: WARM_UP_SECONDS });
      await reset();
      const measurement = await measure({ target: open, stores, table, connections, seconds });
      measured.push({ target: id, title, indexes, connections, round, measurement });
      const speed = `${whole(measurement.requestsPerSecond)}/s`;
      progress.step(`round ${round} · ${title} · ${inConnections(connections)} · ${speed}`);
      if (measurement.mismatch) say(`${title}: ${measurement.mismatch}`);
    }
  } finally {
    await open.stop();
  }
};
