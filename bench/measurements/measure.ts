import type { PlantsTable } from '../database/plants-table.ts';
import type { LoadResult, OpenTarget } from '../load/load.ts';
import { cpuSeconds, memoryBytes } from '../processes/process-tree.ts';
import type { Figures, MeasuredIndexes, Measurement, Result } from '../reports/results.ts';

const REQUESTS_PER_CPU_FIGURE = 10_000;

/** Numbers the loads of the whole benchmark, so that no id derived from the number repeats. */
let lastRun = 0;
export const nextRun = (): number => {
  lastRun += 1;
  return lastRun;
};

type WarmUp = { connections: number; seconds: number };

export const warmUp = (target: OpenTarget, load: WarmUp): Promise<LoadResult> =>
  target.load({ ...load, run: nextRun() });

type Measure = { target: OpenTarget; stores: boolean; table: PlantsTable; connections: number; seconds: number };

/** Loads a warm target. `stores`: every answer of 200 must be a row of the table. */
export const measure = async ({ target, stores, table, connections, seconds }: Measure): Promise<Measurement> => {
  const rowsBefore = await table.settledCount();
  const cpuBefore = cpuSeconds(target.pid);
  const load = await target.load({ connections, seconds, run: nextRun() });
  const cpuAfter = cpuSeconds(target.pid);
  const peakMemoryBytes = memoryBytes(target.pid, 'VmHWM');
  const rows = stores ? (await table.settledCount()) - rowsBefore : undefined;
  const cpu = cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore;
  return {
    requestsPerSecond: load.ok / load.seconds,
    p50Milliseconds: load.p50,
    p99Milliseconds: load.p99,
    cpuSecondsPer10k: cpu === undefined ? undefined : (cpu / load.ok) * REQUESTS_PER_CPU_FIGURE,
    peakMemoryBytes,
    ok: load.ok,
    notOk: load.notOk,
    socketErrors: load.socketErrors,
    rows,
    mismatch: rows === undefined ? undefined : compareRows({ load, rows, connections }),
  };
};

/** There may be one more row per connection: when the load ends, each has a request whose answer nobody reads. */
const compareRows = ({ load, rows, connections }: { load: LoadResult; rows: number; connections: number }) => {
  if (load.ok === 0) return 'no request was answered with 200';
  if (rows < load.ok) return `${load.ok} answers of 200, but ${rows} rows: ${load.ok - rows} are missing`;
  const surplus = rows - load.ok;
  return surplus > connections ? `${rows} rows, but ${load.ok} answers of 200: ${surplus} too many` : undefined;
};

export type Round = {
  target: string;
  title: string;
  indexes: MeasuredIndexes;
  connections: number;
  round: number;
  measurement: Measurement;
};

/** One result for each target and number of connections, in the order of their first rounds. */
export const summarize = (rounds: Round[]): Result[] =>
  [...Map.groupBy(rounds, ({ target, connections }) => `${target} ${connections}`).values()].map((group) => {
    const { target, title, indexes, connections } = group[0] as Round;
    const median = medians(group.map(({ measurement }) => measurement));
    return {
      target,
      title,
      indexes,
      connections,
      median,
      rounds: group.map(({ round, measurement }) => ({ round, ...measurement })),
    };
  });

export const medians = (rounds: Measurement[]): Figures => ({
  requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)) ?? 0,
  p50Milliseconds: median(rounds.map((round) => round.p50Milliseconds)) ?? 0,
  p99Milliseconds: median(rounds.map((round) => round.p99Milliseconds)) ?? 0,
  cpuSecondsPer10k: median(rounds.map((round) => round.cpuSecondsPer10k)),
  peakMemoryBytes: median(rounds.map((round) => round.peakMemoryBytes)),
});

/** Ignores unknown values. For an even number of values, the mean of the middle two. */
export const median = (values: (number | undefined)[]): number | undefined => {
  const known = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  const [low, high] = [known[Math.floor((known.length - 1) / 2)], known[Math.ceil((known.length - 1) / 2)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
};

/**
 * A different order in each round: as listed, reversed, from the middle, and so on, so that no item always follows the
 * same one, or always comes late on a machine that slows down.
 */
export const orderOf = <Item>(round: number, items: readonly Item[]): Item[] => {
  const start = Math.floor(((round - 1) * items.length) / 4) % items.length;
  const rotated = [...items.slice(start), ...items.slice(0, start)];
  return round % 2 === 0 ? rotated.reverse() : rotated;
};
