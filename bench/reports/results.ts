/** What a run measures and writes to `results/*.json`. */

/** Undefined if it is unknown: without /proc, or without a server. */
export type Figures = {
  /** Answers of 200. */
  requestsPerSecond: number;
  p50Milliseconds: number;
  p99Milliseconds: number;
  /** CPU seconds of the server's processes per 10,000 answers of 200. */
  cpuSecondsPer10k: number | undefined;
  /** Since the server started. */
  peakMemoryBytes: number | undefined;
};

export type Measurement = Figures & {
  ok: number;
  /** Other answers by status. */
  notOk: Record<string, number>;
  /** Requests without an answer within 10 s. */
  socketErrors: number;
  /** Rows added, if the target stores any. */
  rows: number | undefined;
  /** How the rows differ from the answers. */
  mismatch: string | undefined;
};

/** All indexes of the store's migrations, or only the primary key, which every target needs. */
export type Indexes = 'all' | 'primary key';

/** Of the table while a target is measured. `none`: it stores nothing. */
export type MeasuredIndexes = Indexes | 'none';

/** One target at one number of connections: each round, and the medians. */
export type Result = {
  target: string;
  title: string;
  indexes: MeasuredIndexes;
  connections: number;
  median: Figures;
  rounds: (Measurement & { round: number })[];
};

/** A target that could not be measured, and why. */
export type Unavailable = { target: string; title: string; round: number; reason: string };

export type Comparison = { results: Result[]; unavailable: Unavailable[] };

export type Reads = {
  connections: number;
  rows: number;
  pageLimit: number;
  plants: Result[];
  pages: Result[];
  unavailable: Unavailable[];
};

export type Sides<Of> = { grown: Of; empty: Of };

/** `logBytesPerPlant`: bytes that PostgreSQL added to its write-ahead log per plant. */
export type LoggedMeasurement = Measurement & { logBytesPerPlant: number };

export type GrowthStep = {
  rowsBefore: number;
  /** The first seconds after a checkpoint, when PostgreSQL logs whole pages. */
  afterCheckpoint: LoggedMeasurement;
  /** Alternates with a store whose table is empty. `ofEmpty`: requests per second as a multiple of that store's. */
  rounds: (Sides<LoggedMeasurement> & { ofEmpty: number })[];
  median: Sides<Figures> & { ofEmpty: number | undefined; logBytesPerPlant: number | undefined };
};

/** Bytes of memory, sampled each second. The medians of the first and last fifth show if it grows. */
export type Soak = Measurement & { samples: number[]; firstFifth: number | undefined; lastFifth: number | undefined };

export type BulkFigures = {
  rowsPerSecond: number;
  /** CPU seconds per 1,000,000 rows: of the target's processes, and of PostgreSQL's. */
  cpuSecondsPerMillion: number | undefined;
  postgresCpuPerMillion: number | undefined;
  /** Cores that each used on average. */
  ownCores: number | undefined;
  postgresCores: number | undefined;
  /** Peak memory of an idle new server during the measurement, less its memory before, in bytes. */
  memoryGrowth: number | undefined;
};

export type BulkMeasurement = BulkFigures & {
  round: number;
  seconds: number;
  rows: number;
  /** How the rows differ from those sent or expected. */
  mismatch: string | undefined;
};

export type BulkId =
  | 'import-command'
  | 'psql-load'
  | 'import'
  | 'create-many'
  | 'single-posts'
  | 'export'
  | 'psql-unload';

export type BulkResult = { id: BulkId; title: string; median: BulkFigures; rounds: BulkMeasurement[] };

/** p99 of single POSTs in ms. `ratio`: during an import, as a multiple of the mean of before and after it. */
export type BulkLatency = {
  round: number;
  before: number;
  during: number;
  after: number;
  ratio: number;
  mismatch: string | undefined;
};

export type Bulk = {
  rows: number;
  rounds: number;
  results: BulkResult[];
  latencies: BulkLatency[];
  /** The median of their ratios. */
  latencyRatio: number | undefined;
  latencyConnections: number;
  unavailable: Unavailable[];
};

export const measurementsOf = ({ afterCheckpoint, rounds }: GrowthStep): Measurement[] => [
  afterCheckpoint,
  ...rounds.flatMap(({ grown, empty }) => [grown, empty]),
];

export const mismatchesOf = (measurements: Measurement[]): string[] =>
  measurements.flatMap(({ mismatch }) => mismatch ?? []);

export const countNotOk = ({ notOk, socketErrors }: Pick<Measurement, 'notOk' | 'socketErrors'>): number =>
  Object.values(notOk).reduce((sum, count) => sum + count, socketErrors);

export const bulkMismatches = ({ results, latencies }: Bulk): string[] => {
  const ofTasks = results.flatMap(({ title, rounds }) => rounds.map((round) => ({ title, ...round })));
  const ofLatency = latencies.map((latency) => ({ title: 'POST /plants during an import', ...latency }));
  return [...ofTasks, ...ofLatency].flatMap(({ title, round, mismatch }) =>
    mismatch ? [`${title}, round ${round}: ${mismatch}`] : [],
  );
};
