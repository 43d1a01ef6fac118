import type { RequestHandler } from 'express';
import type { Tracer } from './tracer.ts';

declare module 'express-serve-static-core' {
  interface Locals {
    /** The trace that the request is part of; for the log. */
    traceId?: string;
  }
}

/**
 * Makes each request a span, within the trace of the client if it sent one, and all work for it a part of that. The answer
 * names it (`traceresponse`, https://w3c.github.io/trace-context/#trace-context-http-response-headers-format).
 */
export const createRequestTracing =
  ({ tracer }: { tracer: Tracer }): RequestHandler =>
  (request, response, next) => {
    const { method, headers, path, httpVersion } = request;
    const span = tracer.receive(method, headers, {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': path,
      'network.protocol.version': httpVersion,
    });
    response.locals.traceId = span.traceId;
    response.setHeader('traceresponse', span.traceparent);
    response.once('close', () => {
      const { headersSent, statusCode, locals } = response;
      const route = request.route?.path;
      if (route !== undefined) span.rename(`${method} ${route}`);
      span.set({
        'http.route': route,
        'http.response.status_code': headersSent ? statusCode : undefined,
        'plant_store.error.code': locals.errorCode,
      });
      span.end(failureOf(headersSent, statusCode));
    });
    tracer.run(span, next);
  };

/** What the client did wrong is no failure of the server's span (semantic conventions, HTTP server). */
const failureOf = (isAnswered: boolean, status: number) => {
  if (!isAnswered) return 'aborted';
  return status >= 500 ? String(status) : undefined;
};
