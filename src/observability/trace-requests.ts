import {
  context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { RequestHandler } from 'express';

const propagator = new W3CTraceContextPropagator();

/**
 * Makes each request a span, in the client's trace if it sent one, and the parent of all spans of its work. The response
 * names it (`traceresponse`, https://w3c.github.io/trace-context/#trace-context-http-response-headers-format).
 */
export const createRequestTracing =
  ({ tracer }: { tracer: Tracer }): RequestHandler =>
  (request, response, next) => {
    const { method, headers, path, httpVersion } = request;
    const attributes = {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': path,
      'network.protocol.version': httpVersion,
    };
    const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    const { traceId, spanId, traceFlags } = span.spanContext();
    response.locals.traceId = traceId;
    response.setHeader('traceresponse', `00-${traceId}-${spanId}-0${traceFlags}`);
    response.once('close', () => {
      const { headersSent, statusCode, locals } = response;
      const route = request.route?.path;
      if (route !== undefined) span.updateName(`${method} ${route}`);
      const failure = failureOf(headersSent, statusCode);
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttributes({
        'http.route': route,
        'http.response.status_code': headersSent ? statusCode : undefined,
        'plant_store.error.code': locals.error?.code,
        'error.type': failure,
      });
      span.end();
    });
    context.with(trace.setSpan(parent, span), next);
  };

/** A client error (4xx) is not a failure of the server's span (semantic conventions for HTTP server spans). */
const failureOf = (hasStatus: boolean, status: number) => {
  if (!hasStatus) return 'aborted';
  return status >= 500 ? String(status) : undefined;
};
