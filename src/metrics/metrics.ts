import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import { version } from '../version.ts';
import { type WatchedPool, watchPool } from './pool-metrics.ts';
import { createQueueMetrics } from './queue-metrics.ts';
import { createErrorCounter, createRequestMetrics } from './request-metrics.ts';
import { answerMetricsRequests } from './workers-metrics.ts';

type MetricsOptions = {
  /** Which of several processes this is; its series say so, and are served by the process that started it. */
  worker?: number | undefined;
};

/** What Prometheus is told of a store: each name is made in this folder, and explained in docs/operations.md. */
export const createMetrics = ({ worker }: MetricsOptions) => {
  const registry = new Registry();
  if (worker !== undefined) joinOthers(registry, worker);
  collectDefaultMetrics({ register: registry });
  describeBuild(registry);
  const countError = createErrorCounter({ registry });
  return {
    /** The middleware that counts and times requests. */
    observeRequest: createRequestMetrics({ registry, countError }),
    countError,
    observeQueue: createQueueMetrics({ registry }),
    watchPool: (pool: WatchedPool) => watchPool(registry, pool),
    watchLog: (droppedLines: () => number) => countDroppedLines(registry, droppedLines),
    /** In Prometheus' text format. */
    read: () => registry.metrics(),
  };
};

/**
 * With a label for the worker, and not as one sum: a sum falls when a worker dies, which Prometheus takes for a restart of all,
 * and an average of event loops hides the one that is stuck.
 */
const joinOthers = (registry: Registry, worker: number) => {
  registry.setDefaultLabels({ worker: String(worker) });
  answerMetricsRequests(registry);
};

const describeBuild = (registry: Registry) => {
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version, node_version: process.versions.node }, 1);
};

const countDroppedLines = (registry: Registry, droppedLines: () => number) => {
  new Counter({
    name: 'plant_store_log_dropped_lines_total',
    help: 'Lines of the log that were lost because it could not be written.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
};
