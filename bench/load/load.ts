import type { Get, Read } from './reads.ts';

export type Load = {
  connections: number;
  seconds: number;
  /** Unique per database, because ids are derived from it. */
  run: number;
  /** What to GET, in random order. Without it, plants are created. */
  reads?: readonly Read[] | undefined;
};

export type LoadResult = {
  /** Correct answers with status 200. */
  ok: number;
  /** Other answers by status, and answers of 200 with the wrong plants. */
  notOk: Record<string, number>;
  /** Requests without an answer within 10 s. */
  socketErrors: number;
  seconds: number;
} & Percentiles;

/** Latency in milliseconds. */
export type Percentiles = { p50: number; p99: number };

export type LoadGenerator = {
  /** With its version, for the report. */
  name: string;
  run: (load: Load & { url: string; token: string; signal: AbortSignal }) => Promise<LoadResult>;
};

/** `url`: of `POST /plants`. */
export type Address = { url: string; token: string };

/** A running target. */
export type OpenTarget = {
  load: (load: Load) => Promise<LoadResult>;
  /** The process to measure. pgbench has none. */
  pid?: number;
  logFile?: string;
  /** Only servers have these. */
  get?: Get;
  address?: Address;
  stop: () => Promise<void>;
};

export const percentiles = (milliseconds: number[]): Percentiles => {
  const sorted = Float64Array.from(milliseconds).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
};
