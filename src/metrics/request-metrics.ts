import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { RequestHandler } from 'express';
import { errorCodes } from '../http/error-codes.ts';

/** In seconds: from a lone request on a fast disk to the longest that one may take by default. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The methods of RFC 9110 and PATCH; a client may send others, which are counted as one. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

type RequestMetricsOptions = {
  registry: Registry;
  /** Told the code of each Error that was an answer. */
  countError: (code: number) => void;
};

/**
 * Times each request from here until its answer is handed over. The route is the pattern and not the path, and a path
 * that has none is `unknown`: what a client can make up does not become a series.
 */
export const createRequestMetrics = ({ registry, countError }: RequestMetricsOptions): RequestHandler => {
  const durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'How long requests took, by what came of them; `error` is the code of the Error body.',
    labelNames: ['method', 'route', 'status', 'error'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  return (request, response, next) => {
    const startedAt = performance.now();
    response.once('close', () => {
      const error = response.locals.errorCode;
      if (error !== undefined) countError(error);
      const labels = {
        method: METHODS.has(request.method) ? request.method : 'other',
        route: request.route?.path ?? 'unknown',
        // A client that went away was sent no status.
        status: response.headersSent ? response.statusCode : 'aborted',
        error: error ?? '',
      };
      durations.observe(labels, (performance.now() - startedAt) / 1000);
    });
    next();
  };
};

/** Counts Errors by their codes, also those that answer what was no request that the app could be given. */
export const createErrorCounter = ({ registry }: { registry: Registry }) => {
  const errors = new Counter({
    name: 'plant_store_http_errors_total',
    help: 'Errors that were answered, by the code of the Error body.',
    labelNames: ['error'],
    registers: [registry],
  });
  // From 0 on: a series that begins with 1 has not risen, as Prometheus sees it.
  for (const { code } of Object.values(errorCodes)) errors.inc({ error: code }, 0);
  return (code: number): void => errors.inc({ error: code });
};
