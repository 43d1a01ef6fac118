import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import { version } from '../version.ts';
import { type WatchedExports, watchExports } from './export-metrics.ts';
import { createImportMetrics } from './import-metrics.ts';
import { createQueueMetrics } from './queue-metrics.ts';
import { createErrorCounter, createRequestMetrics } from './request-metrics.ts';
import { handleMetricsRequests } from './workers-metrics.ts';

/** A pool of database connections. */
export type PoolState = {
  open: number;
  idle: number;
  /** Statements waiting for a connection. */
  waiting: number;
  limit: number;
};

type MetricsOptions = {
  /** The number of this process, if there are several: a label of its series, which the primary process serves. */
  worker?: number | undefined;
  /** Every code that an Error may have. */
  errorCodes: readonly number[];
};

/** The metrics for Prometheus. Their names are defined in this folder and explained in docs/operations.md. */
export const createMetrics = ({ worker, errorCodes }: MetricsOptions) => {
  const registry = new Registry();
  if (worker !== undefined) registerWorker(registry, worker);
  collectDefaultMetrics({ register: registry });
  describeBuild(registry);
  const countError = createErrorCounter({ registry, errorCodes });
  return {
    /** Middleware that counts and times requests. */
    observeRequest: createRequestMetrics({ registry, countError }),
    countError,
    observeQueue: createQueueMetrics({ registry }),
    watchExports: (exports: WatchedExports) => watchExports(registry, exports),
    observeImports: createImportMetrics({ registry }),
    watchPool: (read: () => PoolState) => watchPool(registry, read),
    watchLog: (droppedLines: () => number) => countDroppedLines(registry, droppedLines),
    /** In Prometheus' text format. */
    read: () => registry.metrics(),
  };
};

/**
 * Labels series with the worker instead of adding them up. A sum falls when a worker dies, which Prometheus takes for a
 * restart of all, and an average over event loops hides a worker that is stuck.
 */
const registerWorker = (registry: Registry, worker: number) => {
  registry.setDefaultLabels({ worker: String(worker) });
  handleMetricsRequests(registry);
};

const describeBuild = (registry: Registry) => {
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the labels are the versions of the store and of Node.js.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version, node_version: process.versions.node }, 1);
};

const countDroppedLines = (registry: Registry, droppedLines: () => number) => {
  new Counter({
    name: 'plant_store_log_dropped_lines_total',
    help: 'Log lines dropped because the log could not be written.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
};

const watchPool = (registry: Registry, read: () => PoolState) => {
  const registers = [registry];
  new Gauge({
    name: 'plant_store_database_connections',
    help: 'Open connections to PostgreSQL, by state: idle or used.',
    labelNames: ['state'],
    registers,
    collect() {
      const { open, idle } = read();
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'used' }, open - idle);
    },
  });
  new Gauge({
    name: 'plant_store_database_connections_limit',
    help: 'Maximum number of connections to PostgreSQL (DATABASE_CONNECTIONS).',
    registers,
  }).set(read().limit);
  new Gauge({
    name: 'plant_store_database_waiting_statements',
    help: 'Statements waiting for a connection to PostgreSQL.',
    registers,
    collect() {
      this.set(read().waiting);
    },
  });
};
