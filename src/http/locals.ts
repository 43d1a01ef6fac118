import type { ApiError } from './api-error.ts';

/** What the handlers of a request tell each other, the server, the log, the metrics and the traces. */
declare module 'express-serve-static-core' {
  interface Locals {
    /** When the request started, in ms of the monotonic clock. */
    startedAt?: number;
    traceId?: string;
    /** The name of the request's token. */
    tokenName?: string;
    /** The error that the response reports. */
    error?: ApiError;
    /** The number of plants that an export sent so far. */
    progress?: { rows: number };
    /** How long the client may accept nothing of this response, in ms, instead of the server's default. */
    allowedPause?: number;
    /**
     * Makes the reader of a streamed body throw an error. It is set for as long as the response is not sent, even if
     * the reader has stopped: neither the request timeout nor invalid data may replace the response of the handler,
     * which alone knows what it did with the first part.
     */
    failBody?: (error: unknown) => void;
  }
}
