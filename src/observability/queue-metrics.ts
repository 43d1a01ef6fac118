import { Gauge, Histogram, type Registry } from '@prometheus-io/client';
import type { ObservedQueue, QueueObserver } from '../batching/batch-queue.ts';

/** Up to the largest batch; see batchItems in request-limits.ts. */
const SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** In seconds, from a flush to a fast disk to the default statement timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @returns a function that measures the queue of a given name */
export const createQueueMetrics = ({ registry }: { registry: Registry }) => {
  const common = { labelNames: ['queue'] as const, registers: [registry] };
  /** Those with the same name are added up. */
  const queues: { queue: string; observed: ObservedQueue }[] = [];
  /** Reads a number of each queue with each scrape. */
  const watch = (name: string, help: string, read: (queue: ObservedQueue) => number) => {
    const collect = () => {
      gauge.reset();
      for (const { queue, observed } of queues) gauge.inc({ queue }, read(observed));
    };
    const gauge = new Gauge({ ...common, name, help, collect });
  };
  watch('plant_store_queue_items', 'Requests waiting for a batch.', ({ length }) => length());
  watch(
    'plant_store_queue_limit_items',
    'Maximum number of requests waiting for a batch (QUEUE_LIMIT).',
    ({ limit }) => limit,
  );
  watch('plant_store_queue_bytes', 'Approximate memory used by requests waiting for a batch.', ({ bytes }) => bytes());
  watch(
    'plant_store_queue_limit_bytes',
    'Maximum memory for requests waiting for a batch.',
    ({ byteLimit }) => byteLimit,
  );
  const size = new Histogram({
    ...common,
    name: 'plant_store_batch_items',
    help: 'Requests per batch, which is one statement.',
    buckets: SIZE_BUCKETS,
  });
  const duration = new Histogram({
    ...common,
    name: 'plant_store_batch_duration_seconds',
    help: 'Time from sending a batch to PostgreSQL to its result, including retries.',
    buckets: DURATION_BUCKETS,
  });
  const underWay = new Gauge({
    ...common,
    name: 'plant_store_batches_under_way',
    help: 'Batches sent to PostgreSQL and still without a result.',
  });
  return (queue: string, observed: ObservedQueue): QueueObserver => {
    queues.push({ queue, observed });
    underWay.set({ queue }, 0);
    return {
      around: async (notes, run) => {
        const observeDuration = duration.startTimer({ queue });
        size.observe({ queue }, notes.length);
        underWay.inc({ queue });
        try {
          return await run();
        } finally {
          underWay.dec({ queue });
          observeDuration();
        }
      },
    };
  };
};
