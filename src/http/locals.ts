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
    /** The number of plants that an export sent so far. */
    progress?: { rows: number };
    /** Overrides how long the client of this response may stop reading, in ms. */
    allowedPause?: number;
    /**
     * Makes the reader of a streamed body throw an error. It is set until the response is sent, even if the reader has
     * stopped: only the handler may respond, because only the handler knows what is stored.
     */
    failBody?: (error: unknown) => void;
  }
}
