import type { StoreError } from '../errors.ts';

/** State of a request that its handlers share with each other, the server, the log, the metrics and the traces. */
declare module 'express-serve-static-core' {
  interface Locals {
    /** When the request started, in ms of the monotonic clock. */
    startedAt?: number;
    traceId?: string;
    /** The name of the request's token. */
    tokenName?: string;
    /** The error that the response reports. */
    error?: StoreError;
    /** The number of plants that an export has read so far. */
    progress?: { rows: number };
  }
}
