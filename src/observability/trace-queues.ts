import { context, ROOT_CONTEXT, type Span, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import type { QueueObserver } from '../batching/queue-observer.ts';

/** The queues whose batches serve several requests. In the others a statement is a child span of its only request. */
const SHARED_QUEUES = ['writes', 'reads', 'pages'];

/**
 * Follows sampled requests through a queue into the batch that serves them. A batch belongs to the trace of its first
 * sampled request; links connect it with the queue spans of the others.
 * @returns a function that takes the queue's name, and returns undefined if its batches serve one request each
 */
export const createQueueTracing =
  ({ tracer }: { tracer: Tracer }) =>
  (queue: string): QueueObserver<Span | undefined> | undefined => {
    if (!SHARED_QUEUES.includes(queue)) return undefined;
    const attributes = { 'plant_store.queue': queue };
    const startBatch = ([first, ...others]: Span[], size: number) => {
      if (first === undefined) return undefined;
      const options = { attributes: { ...attributes, 'plant_store.batch.items': size } };
      const batch = tracer.startSpan('batch', options, trace.setSpan(ROOT_CONTEXT, first));
      first.end();
      for (const span of others) {
        span.addLink({ context: batch.spanContext() }).end();
        batch.addLink({ context: span.spanContext() });
      }
      return batch;
    };
    return {
      enter: () => {
        const isSampled = trace.getActiveSpan()?.spanContext().traceFlags === TraceFlags.SAMPLED;
        return isSampled ? tracer.startSpan('queue', { attributes }) : undefined;
      },
      drop: (span) => span?.setAttribute('error.type', 'dropped').setStatus({ code: SpanStatusCode.ERROR }).end(),
      around: (spans, run) => {
        const sampled = spans.filter((span) => span !== undefined);
        const batch = startBatch(sampled, spans.length);
        const active = batch ? trace.setSpan(ROOT_CONTEXT, batch) : ROOT_CONTEXT;
        return context.with(active, () => run().finally(() => batch?.end()));
      },
    };
  };
