import type { QueueObserver } from '../plants/queue-observer.ts';
import type { Span, Tracer } from './tracer.ts';

/**
 * Follows requests through a queue into the batch that serves them. A batch is part of the trace of its first request that
 * is sampled; it and the others' time in the queue name one another by links.
 */
export const createQueueTracing =
  ({ tracer }: { tracer: Tracer }) =>
  (queue: string): QueueObserver<Span | undefined> => {
    const attributes = { 'plant_store.queue': queue };
    const beginBatch = ([first, ...others]: Span[], size: number) => {
      if (first === undefined) return undefined;
      const batch = tracer.begin('batch', { ...attributes, 'plant_store.batch.items': size }, { parent: first });
      first.end();
      for (const span of others) {
        if (batch) span.link(batch);
        batch?.link(span);
        span.end();
      }
      return batch;
    };
    return {
      enter: () => tracer.begin('queue', attributes),
      drop: (span) => span?.end('dropped'),
      around: (spans, run) => {
        const sampled = spans.filter((span) => span !== undefined);
        const batch = beginBatch(sampled, spans.length);
        return tracer.run(batch, () => run().finally(() => batch?.end()));
      },
    };
  };
