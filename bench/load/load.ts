import type { Indexes, PlantsTable } from '../database/plants-table.ts';

export type Load = {
  connections: number;
  seconds: number;
  /** What to GET, in random order. Without it, plants are created. */
  paths?: readonly string[] | undefined;
  /** Whether each request has an Idempotency-Key. */
  withKeys?: boolean | undefined;
  /** Ends the load early when this settles. */
  until?: Promise<unknown> | undefined;
};

/** Latencies in milliseconds. */
export type LoadResult = {
  /** Answers of 200. */
  ok: number;
  /** Other answers, and requests without an answer within 10 s. */
  notOk: number;
  seconds: number;
  p50: number;
  p99: number;
};

/** A running target. `pid`: the process to measure. pgbench has none. */
export type OpenTarget = AsyncDisposable & { pid?: number; load: (load: Load) => Promise<LoadResult> };

/** What is measured. `Open`: what it is when it runs. */
export type Target<Open = OpenTarget> = {
  id: string;
  title: string;
  table: PlantsTable;
  /** Of the table while it is measured. With `none`, it stores nothing: otherwise each answer of 200 means a row. */
  indexes: Indexes | 'none';
  /** @throws {BenchError} if it cannot be measured */
  open: () => Promise<Open>;
};
