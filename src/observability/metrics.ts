import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { ObservedQueue, QueueObserver } from '../batching/batch-queue.ts';
import { version } from '../version.ts';
import { answer } from './ask-workers.ts';
import { createRequestMetrics } from './request-metrics.ts';

/** Up to the largest batch; see batchItems in request-limits.ts. */
const SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** In seconds, from a flush to a fast disk to the default statement timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What is read with each scrape. */
export type State = {
  /** Of database connections. `waiting`: the statements that wait for a connection. */
  pool: Record<'open' | 'idle' | 'waiting' | 'limit', number>;
  /** `connections`: those that are open. The others are counted since the start. */
  server: Record<'connections' | 'refusedConnections' | 'earlyRequests', number>;
  /** Since the start. */
  dropped: Record<'bodies' | 'responses', number>;
  droppedLines: number;
  /** Since the start, by outcome, without dry runs. */
  importedRows: Record<string, number>;
  /** Since the start. */
  exportedPlants: number;
  queues: readonly ObservedQueue[];
  /** What requests hold at this moment, by name. Each number is 0 while the service is idle. */
  inUse: Record<string, number> & Record<'imports' | 'exports', number>;
};

export type MetricsOptions = {
  config: { maxConnections: number };
  /** The number of this process, if there are several: a label of its series, which the primary process serves. */
  worker?: number | undefined;
  readState: () => State;
};

/** The metrics for Prometheus. docs/reference/metrics.md is made from them. */
export const createMetrics = ({ config, worker, readState }: MetricsOptions) => {
  const registry = new Registry();
  const registers = [registry];
  /** As of the last scrape. */
  let state: State;
  const scrape = () => {
    state = readState();
    return registry;
  };
  if (worker !== undefined) {
    // The series of workers are not added up. A sum falls when a worker dies, which Prometheus takes for a restart of
    // all, and an average over event loops hides a worker that is stuck.
    registry.setDefaultLabels({ worker: String(worker) });
    answer('metrics', () => scrape().getMetricsAsJSON());
  }

  const watchWith =
    (Kind: typeof Counter | typeof Gauge) =>
    (name: string, help: string, read: () => number | Record<string, number>, label?: string) => {
      const collect = () => {
        metric.reset();
        const found = read();
        if (label === undefined) metric.inc(found as number);
        else for (const [value, number] of Object.entries(found)) metric.inc({ [label]: value }, number);
      };
      const metric = new Kind({ name, help, labelNames: label ? [label] : [], registers, collect });
    };
  /** Shows a number of the state, or one for each value of a label. */
  const watch = watchWith(Gauge);
  /** Like `watch`, for numbers that only grow. */
  const watchTotal = watchWith(Counter);
  /** Shows a number of each queue that has a name. */
  const watchQueues = (name: string, help: string, read: (queue: ObservedQueue) => number) => {
    const readAll = () => state.queues.flatMap((queue) => (queue.name ? [[queue.name, read(queue)]] : []));
    watch(name, help, () => Object.fromEntries(readAll()), 'queue');
  };

  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the labels are the versions of the service and of Node.js.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version, node_version: process.versions.node }, 1);
  watchTotal(
    'plant_store_log_dropped_lines_total',
    'Log lines dropped because the log could not be written.',
    () => state.droppedLines,
  );
  const requests = createRequestMetrics({ registry });
  watchQueues('plant_store_queue_items', 'Requests waiting for a batch.', ({ length }) => length());
  watchQueues(
    'plant_store_queue_limit_items',
    'Maximum number of requests waiting for a batch (QUEUE_LIMIT).',
    ({ limits }) => limits.queueItems,
  );
  watchQueues('plant_store_queue_bytes', 'Approximate memory used by requests waiting for a batch.', ({ bytes }) =>
    bytes(),
  );
  watchQueues(
    'plant_store_queue_limit_bytes',
    'Maximum memory for requests waiting for a batch.',
    ({ limits }) => limits.queueBytes,
  );
  const batchSize = new Histogram({
    name: 'plant_store_batch_items',
    help: 'Requests per batch, which is one statement.',
    labelNames: ['queue'],
    buckets: SIZE_BUCKETS,
    registers,
  });
  const batchDuration = new Histogram({
    name: 'plant_store_batch_duration_seconds',
    help: 'Time from sending a batch to PostgreSQL to its result, including retries.',
    labelNames: ['queue'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  watchQueues(
    'plant_store_batches_under_way',
    'Batches sent to PostgreSQL and still without a result.',
    ({ batches }) => batches(),
  );
  watch(
    'plant_store_database_connections',
    'Open connections to PostgreSQL, by state: idle or used.',
    () => ({ idle: state.pool.idle, used: state.pool.open - state.pool.idle }),
    'state',
  );
  watch(
    'plant_store_database_connections_limit',
    'Maximum number of connections to PostgreSQL (DATABASE_CONNECTIONS).',
    () => state.pool.limit,
  );
  watch(
    'plant_store_database_waiting_statements',
    'Statements waiting for a connection to PostgreSQL.',
    () => state.pool.waiting,
  );
  watch('plant_store_http_connections', 'Open connections of clients.', () => state.server.connections);
  watch(
    'plant_store_http_connections_limit',
    'Maximum number of open connections (MAX_CONNECTIONS).',
    () => config.maxConnections,
  );
  watchTotal(
    'plant_store_http_refused_connections_total',
    'Connections closed at once, because MAX_CONNECTIONS were open and none was idle.',
    () => state.server.refusedConnections,
  );
  watchTotal(
    'plant_store_http_early_requests_total',
    'Requests not carried out, because they came before the previous response on their connection was complete.',
    () => state.server.earlyRequests,
  );
  for (const what of ['bodies', 'responses'] as const)
    watchTotal(
      `plant_store_http_dropped_${what}_total`,
      `Dropped ${what}: all together held too much memory, and those of their token or address the most.`,
      () => state.dropped[what],
    );
  watchTotal(
    'plant_store_import_rows_total',
    'Imported rows by outcome. Dry runs are not counted.',
    () => state.importedRows,
    'outcome',
  );
  watchTotal('plant_store_exported_plants_total', 'Plants read for exports.', () => state.exportedPlants);
  watch('plant_store_imports_in_progress', 'Imports in progress.', () => state.inUse.imports);
  watch('plant_store_exports_in_progress', 'Exports in progress.', () => state.inUse.exports);
  watch(
    'plant_store_in_use',
    'What requests hold at this moment, by resource. All are 0 while the service is idle.',
    () => state.inUse,
    'resource',
  );

  return {
    ...requests,
    /** Measures the batches of the queue of a given name. */
    observeBatches: (queue: string): QueueObserver => ({
      onBatch: (items) => {
        batchSize.observe({ queue }, items);
        return batchDuration.startTimer({ queue });
      },
    }),
    /** @returns the registry, with the numbers of this moment */
    scrape,
  };
};
