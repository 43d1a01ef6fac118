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
  longReads: BatchLimits;
  tokens: BatchLimits;
  newTokens: BatchLimits;
  searches: BatchLimits;
  changes: BatchLimits;
  /** Large request bodies that are read at once. */
  bodySlots: number;
  /** Bytes of all responses that wait to be sent. */
  outputBytes: number;
};

const BODY_BYTES = 16_777_216;
const MAX_BODY_SLOTS = 16;
const OUTPUT_BYTES = 33_554_432;

/** Shares REQUEST_TIMEOUT out, so that a request stays within it: a fifth for its token, the rest for its plant. */
export const limitRequests = ({
  requestTimeout,
  queueLimit,
  databaseConnections,
  bodyLimit,
}: Config): RequestLimits => {
  const lookUpTimeout = requestTimeout / 5;
  const { searches, changes } = shareConnections(databaseConnections);
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
    // With the usual BODY_LIMIT 16.
    bodySlots: Math.min(MAX_BODY_SLOTS, Math.max(2, Math.floor(BODY_BYTES / bodyLimit))),
    outputBytes: OUTPUT_BYTES,
    lookUpTimeout,
    connectTimeout: Math.min(CONNECT_TIMEOUT, lookUpTimeout),
    // Less than a batch may wait, so that a lost connection makes room for the next while that can still be answered.
    statementTimeout: (requestTimeout * 3) / 5,
    // Few plants flush the disk as often as many do. Reads flush nothing, and gained nothing by it.
    writes: { ...limits, gatherTime: 5 },
    // 64 plants of 16 KiB at most: 2 MiB under way.
    reads: { ...limits, batchItems: 64 },
    // Some 2,000 plants a statement, of 1 KiB at most: 4 MiB under way.
    pages: { ...limits, batchItems: 16, batchBytes: 200_000 },
    // One connection for tokens that anyone may have made up, and two for those that were good before: one may hang.
    newTokens: { ...limits, batches: 1, deadline: lookUpTimeout },
    tokens: { ...limits, deadline: lookUpTimeout },
    // Plants as long as BODY_LIMIT and pages of 1 MiB: 2 MiB under way.
    longReads: limits,
    // Searches may take seconds, and changes wait for locked rows: neither may take the other's connections, nor all.
    searches: { ...limits, batches: searches },
    changes: { ...limits, batches: changes },
  };
};

/** Each may hold a page of 1 MiB. */
const MAX_SEARCHES = 3;

/** What writes, reads and pages leave of the connections, two each; one each at least. */
const shareConnections = (connections: number) => {
  const left = connections - 6;
  const searches = Math.max(1, Math.min(MAX_SEARCHES, Math.floor(left / 2)));
  return { searches, changes: Math.max(1, left - searches) };
};
