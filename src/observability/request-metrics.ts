import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { RequestHandler } from 'express';
import { errors } from '../errors.ts';

/** In seconds, from a single request on a fast disk to the default request timeout. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The methods of RFC 9110, and PATCH. All others share one label, since clients can make them up. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

export const createRequestMetrics = ({ registry }: { registry: Registry }) => {
  const durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Duration of requests, by outcome; `error` is the code of the Error body.',
    labelNames: ['method', 'route', 'status', 'error'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const responses = new Counter({
    name: 'plant_store_http_errors_total',
    help: 'Error responses, by the code of the Error body.',
    labelNames: ['error'],
    registers: [registry],
  });
  // Start at 0: Prometheus sees no increase in a series that starts at 1.
  for (const { code } of Object.values(errors)) responses.inc({ error: code }, 0);
  /** Counts an Error response by its code. Some are sent before a request reaches the app. */
  const countError = (error: number): void => responses.inc({ error });
  /**
   * Times each request until its response ends. The route label is the pattern, not the path, and `unknown` without a
   * route: a client cannot create new series.
   */
  const observeRequest: RequestHandler = (request, response, next) => {
    const observeDuration = durations.startTimer();
    response.once('close', () => {
      const error = response.locals.error?.code;
      if (error !== undefined) countError(error);
      observeDuration({
        method: METHODS.has(request.method) ? request.method : 'other',
        route: request.route?.path ?? 'unknown',
        // Without headers, the client disconnected before it got a status.
        status: response.headersSent ? response.statusCode : 'aborted',
        error: error ?? '',
      });
    });
    next();
  };
  return { observeRequest, countError };
};
