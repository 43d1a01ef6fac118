import type { Config } from './config.ts';
import { CONNECT_TIMEOUT } from './database/database.ts';
import type { BatchLimits } from './plants/batch-queue.ts';

/** What a request may take of the time and memory of a store. Times are in milliseconds. */
export type RequestLimits = {
  /** To look up its token, where that is not known, or whether the database is ready. */
  lookUpTimeout: number;
  connectTimeout: number;
  statementTimeout: number;
  writes: BatchLimits;
  reads: BatchLimits;
  pages: BatchLimits;
  statements: BatchLimits;
  /** Large request bodies that are read at once. */
  bodySlots: number;
  /** Bytes of all responses that wait to be sent. */
  outputBytes: number;
};

const BODY_BYTES = 67_108_864;
const MAX_BODY_SLOTS = 64;
const OUTPUT_BYTES = 67_108_864;

/** Shares REQUEST_TIMEOUT out, so that a request stays within it: a fifth for its token, the rest for its plant. */
export const limitRequests = ({
  requestTimeout,
  queueLimit,
  databaseConnections,
  bodyLimit,
}: Config): RequestLimits => {
  const lookUpTimeout = requestTimeout / 5;
  const limits: BatchLimits = {
    // docs/performance.md has the measurements behind these two.
    batches: 2,
    batchItems: 500,
    batchBytes: 4_194_304,
    gatherTime: 0,
    queueItems: queueLimit,
    queueBytes: 67_108_864,
    deadline: (requestTimeout * 4) / 5,
  };
  return {
    // With the usual BODY_LIMIT 64.
    bodySlots: Math.min(MAX_BODY_SLOTS, Math.max(2, Math.floor(BODY_BYTES / bodyLimit))),
    outputBytes: OUTPUT_BYTES,
    lookUpTimeout,
    connectTimeout: Math.min(CONNECT_TIMEOUT, lookUpTimeout),
    // Less than a batch may wait, so that a lost connection makes room for the next while that can still be answered.
    statementTimeout: (requestTimeout * 3) / 5,
    // Few plants flush the disk as often as many do. Reads flush nothing, and gained nothing by it.
    writes: { ...limits, gatherTime: 5 },
    // Nobody knows beforehand how long what is read is: 64 plants are 64 MiB at most, with the usual BODY_LIMIT.
    reads: { ...limits, batchItems: 64 },
    // Some 2,000 plants a statement, of 4 KiB at most: 16 MiB under way.
    pages: { ...limits, batchItems: 16, batchBytes: 200_000 },
    // Each its own. However slow they are, they leave connections to the batches of all kinds and to the look-up of
    // tokens, where there are enough for one of each.
    statements: { ...limits, batches: Math.max(1, databaseConnections - 3 * limits.batches - 1), batchItems: 1 },
  };
};
