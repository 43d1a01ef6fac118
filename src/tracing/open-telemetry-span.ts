import { type Context, type Span as OpenTelemetrySpan, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { Span } from './tracer.ts';

/** The context in which a span is the one that runs. */
const contexts = new WeakMap<Span, Context>();

export const contextOf = (span: Span): Context => contexts.get(span) as Context;

/** A span of OpenTelemetry in the store's words. `context`: the one that it was begun in. */
export const wrapSpan = (inner: OpenTelemetrySpan, context: Context): Span => {
  const spanContext = inner.spanContext();
  const { traceId, spanId, traceFlags } = spanContext;
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  const span: Span = {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`,
    isSampled,
    rename: (name) => inner.updateName(name),
    set: (attributes) => inner.setAttributes(attributes),
    link: (other) => {
      const linked = trace.getSpanContext(contextOf(other));
      if (linked) inner.addLink({ context: linked });
    },
    end: (error) => {
      if (error !== undefined) inner.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
      inner.end();
    },
  };
  contexts.set(span, trace.setSpan(context, inner));
  return span;
};
