import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { RequestHandler } from 'express';
import type { ObservedQueue, QueueObserver } from '../batching/batch-queue.ts';
import { errors } from '../errors.ts';
import { version } from '../version.ts';
import { answer } from './ask-workers.ts';
import { inUse, type State } from './state.ts';

/** Up to the largest batch; see batchItems in request-limits.ts. */
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** In seconds, from a flush to a fast disk to the default statement timeout. */
const BATCH_DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** In seconds, from a single request on a fast disk to the default request timeout. */
const REQUEST_DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The methods of RFC 9110, and PATCH. All others share one label, since clients can make them up. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

type Read = (state: State) => number | Record<string, number>;
type Watched = [help: string, read: Read, label?: string];

/** A number of each queue that has a name. */
const ofQueues = (help: string, read: (queue: ObservedQueue) => number): Watched => {
  const readAll = ({ queues }: State) =>
    Object.fromEntries(queues.flatMap((queue) => (queue.name ? [[queue.name, read(queue)]] : [])));
  return [help, readAll, 'queue'];
};

/** What the state shows: a number, or with a label one for each of its values. Those that only grow end in `_total`. */
const WATCHED: Record<string, Watched> = {
  plant_store_ready: [
    '1 if this process could handle requests at the last readiness check, or if there was none yet; 0 if not.',
    ({ health }) => Number(health.isReady()),
  ],
  plant_store_log_dropped_lines_total: [
    'Log lines dropped because the log could not be written.',
    ({ droppedLines }) => droppedLines(),
  ],
  plant_store_queue_items: ofQueues('Requests waiting for a batch.', ({ length }) => length()),
  plant_store_queue_limit_items: ofQueues(
    'Maximum number of requests waiting for a batch (QUEUE_LIMIT).',
    ({ limits }) => limits.queueItems,
  ),
  plant_store_queue_bytes: ofQueues('Approximate memory used by requests waiting for a batch.', ({ bytes }) => bytes()),
  plant_store_queue_limit_bytes: ofQueues(
    'Maximum memory for requests waiting for a batch.',
    ({ limits }) => limits.queueBytes,
  ),
  plant_store_batches_under_way: ofQueues('Batches sent to PostgreSQL and still without a result.', ({ batches }) =>
    batches(),
  ),
  plant_store_database_connections: [
    'Open connections to PostgreSQL, by state: idle or used.',
    ({ pool: { totalCount, idleCount } }) => ({ idle: idleCount, used: totalCount - idleCount }),
    'state',
  ],
  plant_store_database_connections_limit: [
    'Maximum number of connections to PostgreSQL (DATABASE_CONNECTIONS).',
    ({ pool }) => pool.limit,
  ],
  plant_store_database_waiting_statements: [
    'Statements waiting for a connection to PostgreSQL.',
    ({ pool }) => pool.waitingCount,
  ],
  plant_store_http_connections: ['Open connections of clients.', ({ server }) => server.counts().connections],
  plant_store_http_connections_limit: [
    'Maximum number of open connections (MAX_CONNECTIONS).',
    ({ server }) => server.counts().maxConnections,
  ],
  plant_store_http_refused_connections_total: [
    'Connections closed at once, because MAX_CONNECTIONS were open and none was idle.',
    ({ server }) => server.counts().refusedConnections,
  ],
  plant_store_http_early_requests_total: [
    'Requests not carried out, because they came before the previous response on their connection was complete.',
    ({ server }) => server.counts().earlyRequests,
  ],
  plant_store_http_dropped_bodies_total: [
    'Dropped bodies: all together held too much memory, and those of their token or address the most.',
    ({ budget }) => budget.counts().bodies,
  ],
  plant_store_http_dropped_responses_total: [
    'Dropped responses: all together held too much memory, and those of their token or address the most.',
    ({ budget }) => budget.counts().responses,
  ],
  plant_store_import_rows_total: [
    'Imported rows by outcome. Dry runs are not counted.',
    ({ imports }) => imports.rows(),
    'outcome',
  ],
  plant_store_exported_plants_total: ['Plants read for exports.', ({ exports }) => exports.rows()],
  plant_store_imports_in_progress: ['Imports in progress.', ({ imports }) => imports.inProgress()],
  plant_store_exports_in_progress: ['Exports in progress.', ({ exports }) => exports.inProgress()],
  plant_store_in_use: [
    'What requests hold at this moment, by resource. All are 0 while the service is idle.',
    inUse,
    'resource',
  ],
};

export type MetricsOptions = {
  /** The number of this process, if there are several: a label of its series, which the primary process serves. */
  worker?: number | undefined;
  readState: () => State;
};

/** The metrics for Prometheus. docs/reference/metrics.md is made from them. */
export const createMetrics = ({ worker, readState }: MetricsOptions) => {
  const registry = new Registry();
  const registers = [registry];
  if (worker !== undefined) {
    // The series of workers are not added up. A sum falls when a worker dies, which Prometheus takes for a restart of
    // all, and an average over event loops hides a worker that is stuck.
    registry.setDefaultLabels({ worker: String(worker) });
    answer('metrics', () => registry.getMetricsAsJSON());
  }

  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the labels are the versions of the service and of Node.js.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version, node_version: process.versions.node }, 1);
  const requests = createRequestMetrics(registers);
  const batches = { labelNames: ['queue'] as const, registers };
  const size = new Histogram({
    ...batches,
    name: 'plant_store_batch_items',
    help: 'Requests per batch, which is one statement.',
    buckets: BATCH_SIZES,
  });
  const duration = new Histogram({
    ...batches,
    name: 'plant_store_batch_duration_seconds',
    help: 'Time from sending a batch to PostgreSQL to its result, including retries.',
    buckets: BATCH_DURATIONS,
  });
  for (const [name, [help, read, label]] of Object.entries(WATCHED)) {
    const Kind: typeof Counter | typeof Gauge = name.endsWith('_total') ? Counter : Gauge;
    const collect = () => {
      metric.reset();
      const found = read(readState());
      if (typeof found === 'number') metric.inc(found);
      else for (const [value, number] of Object.entries(found)) metric.inc({ [`${label}`]: value }, number);
    };
    const metric = new Kind({ name, help, labelNames: label ? [label] : [], registers, collect });
  }

  return {
    ...requests,
    observeBatches: (queue: string): QueueObserver => ({
      onBatch: (items) => {
        size.observe({ queue }, items);
        return duration.startTimer({ queue });
      },
    }),
    registry,
  };
};

const createRequestMetrics = (registers: Registry[]) => {
  const durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Duration of requests, by outcome; `error` is the code of the Error body.',
    labelNames: ['method', 'route', 'status', 'error'],
    buckets: REQUEST_DURATIONS,
    registers,
  });
  const responses = new Counter({
    name: 'plant_store_http_errors_total',
    help: 'Error responses, by the code of the Error body.',
    labelNames: ['error'],
    registers,
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
