import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { ApiError } from './http/api-error.ts';
import { createMetricsServer } from './metrics/metrics-server.ts';
import type { WatchedPool } from './metrics/pool-metrics.ts';
import type { ObservedQueue, QueueObserver } from './plants/queue-observer.ts';
import { createQueueTracing } from './tracing/trace-queues.ts';
import { createRequestTracing } from './tracing/trace-requests.ts';

/** Those whose batches serve several requests; a statement for one request is a span of that request. */
const SHARED_QUEUES = ['writes', 'reads', 'pages'];

type InstrumentsOptions = {
  config: Pick<Config, 'metrics' | 'tracing'>;
  logger: Logger;
  /** Which of several processes this is. */
  worker?: number | undefined;
};

/**
 * What shows the inside of a running store: metrics where METRICS_PORT is set, traces where OTEL_EXPORTER_OTLP_ENDPOINT is.
 * What is not set is not loaded either, and adds nothing to a request.
 */
export const createInstruments = async ({ config, logger, worker }: InstrumentsOptions) => {
  const metrics = config.metrics && (await loadMetrics()).createMetrics({ worker });
  const tracer = config.tracing && (await loadTracing()).createOpenTelemetryTracer({ ...config.tracing, logger });
  const traceQueue = tracer && createQueueTracing({ tracer });
  const observers: RequestHandler[] = [];
  if (metrics) observers.push(metrics.observeRequest);
  if (tracer) observers.push(createRequestTracing({ tracer }));
  const metricsServer =
    metrics && config.metrics && worker === undefined
      ? createMetricsServer({ ...config.metrics, read: metrics.read, logger })
      : undefined;
  return {
    tracer,
    /** Middleware that looks at each request from outside. */
    observers,
    /** Told of an Error that answered what never became a request. */
    countRefusal: ({ code }: ApiError): void => metrics?.countError(code),
    /** @returns undefined where nobody looks on */
    observeQueue: (name: string, queue: ObservedQueue): QueueObserver | undefined => {
      const measured = metrics?.observeQueue(name, queue);
      const traced: QueueObserver | undefined = SHARED_QUEUES.includes(name) ? traceQueue?.(name) : undefined;
      if (!measured || !traced) return measured ?? traced;
      return { ...traced, around: (notes, run) => measured.around(notes, () => traced.around(notes, run)) };
    },
    /** `droppedLines`: how many lines of the log were lost so far. */
    watchLog: (droppedLines: () => number): void => metrics?.watchLog(droppedLines),
    watchPool: (pool: WatchedPool): void => metrics?.watchPool(pool),
    /** Serves the metrics, unless that is done by the process that started this one. */
    start: async (): Promise<void> => metricsServer?.start(),
    stop: async (): Promise<void> => {
      await Promise.all([metricsServer?.stop(), tracer?.stop()]);
    },
  };
};

const loadMetrics = () => import('./metrics/metrics.ts');
const loadTracing = () => import('./tracing/open-telemetry.ts');
