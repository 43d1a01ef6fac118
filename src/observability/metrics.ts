import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import { version } from '../version.ts';
import { answer } from './ask-workers.ts';
import { createQueueMetrics } from './queue-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

const OUTCOMES = ['created', 'replaced', 'skipped', 'failed'] as const;

/** What is read with each scrape. */
export type Watched = {
  /** Of database connections. `waiting`: the statements that wait for a connection. */
  pool: () => Record<'open' | 'idle' | 'waiting' | 'limit', number>;
  /** `connections`: those that are open. The others are counted since the start. */
  server: () => Record<'connections' | 'refusedConnections' | 'earlyRequests', number>;
  /** Since the start. */
  dropped: () => Record<'bodies' | 'responses', number>;
  /** Since the start, without dry runs. */
  importedRows: () => Record<(typeof OUTCOMES)[number], number>;
  /** Since the start. */
  exportedPlants: () => number;
  /** What requests hold at this moment, by name. Each number is 0 while the service is idle. */
  inUse: () => Readonly<Record<string, number> & Record<'imports' | 'exports', number>>;
};

export type MetricsOptions = {
  config: { maxConnections: number };
  /** The number of this process, if there are several: a label of its series, which the primary process serves. */
  worker?: number | undefined;
  /** @returns the number of log lines dropped so far */
  droppedLines?: (() => number) | undefined;
};

/** The metrics for Prometheus. docs/reference/metrics.md is made from them. */
export const createMetrics = ({ config, worker, droppedLines = () => 0 }: MetricsOptions) => {
  const registry = new Registry();
  const registers = [registry];
  if (worker !== undefined) {
    // The series of workers are not added up. A sum falls when a worker dies, which Prometheus takes for a restart of
    // all, and an average over event loops hides a worker that is stuck.
    registry.setDefaultLabels({ worker: String(worker) });
    answer('metrics', () => registry.getMetricsAsJSON());
  }

  /** A number that is read with each scrape. */
  const watch = (name: string, help: string, read: () => number) => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read()) });
  };
  /** Like `watch`, for a number that only grows. */
  const watchTotal = (name: string, help: string, read: () => number) => {
    const collect = () => {
      counter.reset();
      counter.inc(read());
    };
    const counter = new Counter({ name, help, registers, collect });
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
    droppedLines,
  );

  return {
    ...createRequestMetrics({ registry }),
    observeQueue: createQueueMetrics({ registry }),
    watch: ({ pool, server, dropped, importedRows, exportedPlants, inUse }: Watched): void => {
      new Gauge({
        name: 'plant_store_database_connections',
        help: 'Open connections to PostgreSQL, by state: idle or used.',
        labelNames: ['state'],
        registers,
        collect() {
          const { open, idle } = pool();
          this.set({ state: 'idle' }, idle);
          this.set({ state: 'used' }, open - idle);
        },
      });
      watch(
        'plant_store_database_connections_limit',
        'Maximum number of connections to PostgreSQL (DATABASE_CONNECTIONS).',
        () => pool().limit,
      );
      watch(
        'plant_store_database_waiting_statements',
        'Statements waiting for a connection to PostgreSQL.',
        () => pool().waiting,
      );
      watch('plant_store_http_connections', 'Open connections of clients.', () => server().connections);
      watch(
        'plant_store_http_connections_limit',
        'Maximum number of open connections (MAX_CONNECTIONS).',
        () => config.maxConnections,
      );
      watchTotal(
        'plant_store_http_refused_connections_total',
        'Connections closed at once, because MAX_CONNECTIONS were open and none was idle.',
        () => server().refusedConnections,
      );
      watchTotal(
        'plant_store_http_early_requests_total',
        'Requests not carried out, because they came before the previous response on their connection was complete.',
        () => server().earlyRequests,
      );
      for (const what of ['bodies', 'responses'] as const)
        watchTotal(
          `plant_store_http_dropped_${what}_total`,
          `Dropped ${what}: all together held too much memory, and those of their token or address the most.`,
          () => dropped()[what],
        );
      new Counter({
        name: 'plant_store_import_rows_total',
        help: 'Imported rows by outcome. Dry runs are not counted.',
        labelNames: ['outcome'],
        registers,
        collect() {
          this.reset();
          for (const outcome of OUTCOMES) this.inc({ outcome }, importedRows()[outcome]);
        },
      });
      watchTotal('plant_store_exported_plants_total', 'Plants read for exports.', exportedPlants);
      watch('plant_store_imports_in_progress', 'Imports in progress.', () => inUse().imports);
      watch('plant_store_exports_in_progress', 'Exports in progress.', () => inUse().exports);
      new Gauge({
        name: 'plant_store_in_use',
        help: 'What requests hold at this moment, by resource. All are 0 while the service is idle.',
        labelNames: ['resource'],
        registers,
        collect() {
          for (const [resource, count] of Object.entries(inUse())) this.set({ resource }, count);
        },
      });
    },
    registry,
  };
};
