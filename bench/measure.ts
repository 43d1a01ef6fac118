import type { LoadResult } from './load.ts';
import { median } from './median.ts';
import type { PlantsTable } from './plants-table.ts';
import type { OpenTarget } from './targets.ts';

const REQUESTS_PER_CPU_FIGURE = 10_000;

/** Undefined where it is not known: no /proc, or no server. */
export type Figures = {
  /** Answers of 200 a second. */
  requestsPerSecond: number;
  p50Milliseconds: number;
  p99Milliseconds: number;
  /** CPU time of the server's processes, in seconds for each 10,000 answers of 200. */
  cpuSecondsPer10k: number | undefined;
  /** Since the server started, in bytes. */
  peakMemoryBytes: number | undefined;
};

export type Measurement = Figures & {
  ok: number;
  notOk: Record<string, number>;
  socketErrors: number;
  /** Rows added, where the target stores any. */
  rows: number | undefined;
  /** What is wrong with the rows. */
  mismatch: string | undefined;
};

/** Runs of load are numbered over the whole benchmark: ids are made from the number, and are never the same twice. */
let lastRun = 0;
export const nextRun = (): number => {
  lastRun += 1;
  return lastRun;
};

type Measure = { target: OpenTarget; stores: boolean; table: PlantsTable; connections: number; seconds: number };

/** Loads a target that is warm. The table is left as it was found, and what this run added to it. */
export const measure = async ({ target, stores, table, connections, seconds }: Measure): Promise<Measurement> => {
  const rowsBefore = await table.settledCount();
  const cpuBefore = target.cpuSeconds();
  const load = await target.load({ connections, seconds, run: nextRun() });
  const cpuAfter = target.cpuSeconds();
  const peakMemoryBytes = target.peakMemory();
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

/**
 * Every 200 is a row. There may be more rows, at most one for each connection: when the load ends, each has a request
 * on its way that is stored, and whose answer nobody reads.
 */
const compareRows = ({ load, rows, connections }: { load: LoadResult; rows: number; connections: number }) => {
  if (load.ok === 0) return 'no request was answered with 200';
  if (rows < load.ok) return `${load.ok} answers of 200, but ${rows} rows: ${load.ok - rows} are missing`;
  const surplus = rows - load.ok;
  return surplus > connections ? `${rows} rows, but ${load.ok} answers of 200: ${surplus} too many` : undefined;
};

export const medians = (rounds: Measurement[]): Figures => ({
  requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)) ?? 0,
  p50Milliseconds: median(rounds.map((round) => round.p50Milliseconds)) ?? 0,
  p99Milliseconds: median(rounds.map((round) => round.p99Milliseconds)) ?? 0,
  cpuSecondsPer10k: median(rounds.map((round) => round.cpuSecondsPer10k)),
  peakMemoryBytes: median(rounds.map((round) => round.peakMemoryBytes)),
});
