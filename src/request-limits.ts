import type { BatchLimits } from './batching/batch-queue.ts';
import type { Config } from './config/config.ts';
import { BULK_LOCK_TIMEOUT, CLIENT_CHECK_INTERVAL, CONNECT_TIMEOUT } from './database/database.ts';
import { LINGER_TIMES } from './server/lingering.ts';

/** Twelve of the largest bodies that the configuration allows. */
const HELD_BYTES = 50_331_648;
/** Each search may hold a page of 1 MiB. */
const MAX_SEARCHES = 3;

/**
 * Limits on the time and memory that requests may use. Times are in ms. Divides REQUEST_TIMEOUT: a fifth for the token, and the
 * rest for the operation.
 */
export const limitRequests = ({
  requestTimeout,
  exportTimeout,
  importLimit,
  queueLimit,
  databaseConnections,
}: Config) => {
  // Those that remain after writes, reads and pages, which have two each. Searches and changes get at least one each.
  const left = databaseConnections - 6;
  const searches = Math.max(1, Math.min(MAX_SEARCHES, Math.floor(left / 2)));
  const changes = Math.max(1, left - searches);
  /** For token lookups, rate limit counters and ready checks. */
  const lookUpTimeout = requestTimeout / 5;
  const limits: BatchLimits = {
    // See docs/decisions/0006.
    batches: 2,
    batchItems: 500,
    batchBytes: 4_194_304,
    gatherTime: 0,
    queueItems: queueLimit,
    queueBytes: 67_108_864,
    deadline: (requestTimeout * 4) / 5,
  };
  return {
    lookUpTimeout,
    connectTimeout: Math.min(CONNECT_TIMEOUT, lookUpTimeout),
    // Less than the deadline of an item, so that a hanging statement fails while the items behind it still have time.
    statementTimeout: (requestTimeout * 3) / 5,
    // Of another transaction; see docs/decisions/0040. So that a write of a locked plant is tried again before its deadline.
    lockTimeout: Math.min(400, requestTimeout / 10),
    // Waiting for more plants saves flushes to disk. Reads flush nothing, so a gather time does not make them faster.
    writes: { ...limits, gatherTime: 5 },
    // At most 64 plants of 16 KiB: 2 MiB in progress.
    reads: { ...limits, batchItems: 64 },
    // About 2,000 plants of at most 1 KiB per statement: 4 MiB in progress.
    pages: { ...limits, batchItems: 16, batchBytes: 200_000 },
    // One connection for unknown tokens, which may be invalid, and two for known tokens, so that one slow lookup does not block them.
    newTokens: { ...limits, batches: 1, deadline: lookUpTimeout },
    tokens: { ...limits, deadline: lookUpTimeout },
    // Plants of up to BODY_LIMIT and pages of up to 1 MiB: 2 MiB in progress.
    longReads: limits,
    // Searches may take seconds, and changes wait for locked rows, so each has its own share of the connections.
    searches: { ...limits, batches: searches },
    changes: { ...limits, batches: changes },
    // Each attempt at a locked plant takes one for as long as a statement may wait for a lock.
    lockedPlants: { ...limits, batches: 4 },
    /** How often the token of a request is checked again while its body or response streams. */
    tokenCheckInterval: 5000,
    /** How often expired Idempotency-Keys and ended windows of rate limits are deleted. */
    sweepInterval: 60_000,
    /** How often slow headers, and clients that reset a connection that is not being read, are looked for. */
    connectionCheckInterval: 1000,
    exports: {
      /** The maximum number in progress. Each has its own connection, in addition to DATABASE_CONNECTIONS. */
      count: 2,
      /** How long a client may stop reading. Limited because the statement of an export holds back vacuum. */
      stallTimeout: 60_000,
      /** How long an export may take, since its snapshot holds back vacuum. */
      timeout: exportTimeout,
      /** How often PostgreSQL checks whether the connection of an export is still open. */
      clientCheckInterval: CLIENT_CHECK_INTERVAL,
    },
    imports: {
      /** The maximum number in progress. They have connections of their own, in addition to DATABASE_CONNECTIONS. */
      count: 4,
      /** The size of one, in bytes. Undefined: no limit. */
      maxBytes: importLimit,
      /** How long a statement may wait for a lock of another transaction. */
      lockTimeout: BULK_LOCK_TIMEOUT,
      /** How long a client may send bytes without a complete row. */
      rowTimeout: 60_000,
      /** How long the statement in progress may take to end after an import was cancelled. Then its connection is closed. */
      grace: 5000,
    },
    /** How much the bodies of single requests and the responses may hold, in bytes. */
    heldBytes: HELD_BYTES,
    linger: LINGER_TIMES,
  };
};

export type RequestLimits = ReturnType<typeof limitRequests>;
