import type { StoreError } from '../errors.ts';

/** State of a request that its handlers share with each other, the server, the log, the metrics and the traces. */
declare module 'express-serve-static-core' {
  interface Locals {
    /** When the request started, in ms of the monotonic clock. */
    startedAt?: number;
    traceId?: string;
    /** The client's address when the request started. */
    client?: string | undefined;
    /** The name of the request's token, also of one that has expired or was revoked. */
    tokenName?: string;
    /** The id of the plant that the request creates, reads or changes. */
    plantId?: bigint;
    /** Whether its body was dropped: its change must not be sent to PostgreSQL any more. */
    isDropped?: boolean;
    /** How many requests have failed with this error in this second. */
    failures?: number;
    /** The error that the response reports. */
    error?: StoreError;
    /** The number of plants that an export has read so far, or that a change by a filter has changed. */
    progress?: { rows: number };
  }
}
