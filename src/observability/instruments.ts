import type { Logger } from 'pino';
import type { ObservedQueue, QueueObserver } from '../batching/batch-queue.ts';
import type { Config } from '../config/config.ts';
import type { StoreError } from '../errors.ts';
import type { MetricsOptions } from './metrics.ts';
import { createMetricsServer } from './metrics-server.ts';

type InstrumentsOptions = MetricsOptions & {
  config: Pick<Config, 'metrics' | 'tracing'>;
  logger: Logger;
};

/**
 * Metrics if METRICS_PORT is set, traces if OTEL_EXPORTER_OTLP_ENDPOINT is set. Neither is loaded, or adds
 * work to a request, unless it is set.
 */
export const createInstruments = async (options: InstrumentsOptions) => {
  const { config, logger, worker } = options;
  const metrics = config.metrics && (await import('./metrics.ts')).createMetrics(options);
  const tracing = config.tracing && (await import('./tracing.ts')).createTracing({ ...config.tracing, logger });
  const queues: ObservedQueue[] = [];
  let metricsServer: ReturnType<typeof createMetricsServer> | undefined;
  return {
    /** Middleware that measures and traces each request. */
    observers: [metrics?.observeRequest, tracing?.observeRequest].filter((observer) => observer !== undefined),
    /** Counts an error response that no route sent, for instance to malformed HTTP. */
    countRefusal: ({ code }: StoreError): void => metrics?.countError(code),
    /** Measures and traces a queue; one without a name is traced only. */
    observeQueue: (queue: ObservedQueue): QueueObserver => {
      const { name } = queue;
      queues.push(queue);
      return { ...(name !== undefined && metrics?.observeBatches(name)), ...tracing?.observeQueue(name) };
    },
    /** All that are observed, which live as long as the process. */
    queues,
    /** Makes a statement a span; undefined without traces. */
    traceStatement: tracing?.traceStatement,
    /** Makes an import or export a span; undefined without traces. */
    traceBulk: tracing?.traceBulk,
    /**
     * Serves the metrics and health checks, except in a worker: there the primary process does.
     * @param assertReady throws a StoreError if the service cannot handle requests
     */
    start: async (assertReady: () => Promise<void>): Promise<void> => {
      if (!metrics || !config.metrics) return;
      if (worker !== undefined) return (await import('./ask-workers.ts')).answerReadiness(assertReady);
      const read = () => metrics.registry.metrics();
      metricsServer = createMetricsServer({ ...config.metrics, read, assertReady, logger });
      await metricsServer.start();
    },
    stop: async (): Promise<void> => {
      await Promise.all([metricsServer?.stop(), tracing?.stop()]);
    },
  };
};
