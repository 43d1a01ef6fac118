import { setTimeout } from 'node:timers/promises';
import { context, DiagLogLevel, diag } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { version } from '../version.ts';
import { createBulkTracing } from './trace-bulk.ts';
import { createQueueTracing } from './trace-queues.ts';
import { createRequestTracing } from './trace-requests.ts';

/** Time limit for sending the last spans on shutdown, in ms, so that an unreachable collector cannot delay it. */
const FLUSH_TIMEOUT = 500;
/** A batch has a link to each of its requests. */
const MAX_LINKS = 1000;

type TracingConfig = NonNullable<Config['tracing']>;

// OpenTelemetry allows one context manager per process, even if several services run in it.
context.setGlobalContextManager(new AsyncLocalStorageContextManager());

/**
 * Traces requests with OpenTelemetry and sends the spans to a collector: OTLP, as protobuf over HTTP. The configuration
 * sets the endpoint and the sampler; OpenTelemetry reads its other variables itself (docs/decisions/0013).
 */
export const createTracing = ({ endpoint, sampling, logger }: TracingConfig & { logger: Logger }) => {
  logProblems(logger);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` });
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the defaults.
    resource: resourceFromAttributes({ 'service.name': 'plant-store', 'service.version': version }).merge(
      detectResources({
        detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
      }),
    ),
    sampler: createSampler(sampling),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('plant-store', version);
  return {
    tracer,
    /** Middleware that makes each request a span. */
    observeRequest: createRequestTracing({ tracer }),
    observeQueue: createQueueTracing({ tracer }),
    /** Makes an import or export a span. */
    traceBulk: createBulkTracing({ tracer }),
    stop: async (): Promise<void> => {
      const sending = new AbortController();
      const sent = provider.shutdown().catch((error) => logger.warn({ err: error }, 'failed to send the last traces'));
      await Promise.race([sent, setTimeout(FLUSH_TIMEOUT, undefined, { signal: sending.signal })]);
      sending.abort();
    },
  };
};

/** OpenTelemetry 3 reads OTEL_TRACES_SAMPLER only in its largest package. */
const createSampler = ({ sampler, ratio }: TracingConfig['sampling']): Sampler => {
  const [, base] = sampler.split('parentbased_');
  if (base !== undefined)
    return new ParentBasedSampler({ root: createSampler({ sampler: base as typeof sampler, ratio }) });
  if (sampler === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return sampler === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
};

/** Logs what OpenTelemetry reports. It has one handler per process: with several services, the last one logs for all. */
const logProblems = (logger: Logger) => {
  setGlobalErrorHandler((error) => logger.warn({ err: error }, 'failed to send traces'));
  const log = (message: string) => logger.warn({ message }, 'tracing');
  diag.setLogger(
    { error: log, warn: log, info: log, debug: log, verbose: log },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
};
