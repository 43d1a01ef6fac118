import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, type TextMapGetter } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { version } from '../version.ts';
import { contextOf, wrapSpan } from './open-telemetry-span.ts';
import { createSampler, type Sampling } from './sampler.ts';
import type { Span, Tracer } from './tracer.ts';

/** How long the last spans may take to be sent when the store stops, in ms: it does not wait for a collector that is away. */
const FLUSH_TIME = 500;
/** A batch has a link to each of its plants. */
const MAX_LINKS = 1000;

type OpenTelemetryOptions = {
  /** Of the collector; spans are sent to `/v1/traces` below it. */
  endpoint: string;
  sampling: Sampling;
  logger: Logger;
};

/**
 * Traces by OpenTelemetry, sent to a collector by OTLP, as protobuf over HTTP. Where and how much is the configuration's;
 * OpenTelemetry's other variables are read by its own code (docs/decisions/0014).
 */
export const createOpenTelemetryTracer = ({ endpoint, sampling, logger }: OpenTelemetryOptions): Tracer => {
  reportTo(logger);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` });
  const provider = new TracerProvider({
    resource: describeStore(),
    sampler: createSampler(sampling),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('plant-store', version);
  const running = new AsyncLocalStorage<Span | undefined>();
  return {
    receive: (name, headers, attributes) => {
      const context = propagator.extract(ROOT_CONTEXT, headers, headerGetter);
      return wrapSpan(tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context), context);
    },
    begin: (name, attributes, { parent = running.getStore(), ofDatabase = false } = {}) => {
      if (!parent?.isSampled) return undefined;
      const context = contextOf(parent);
      const kind = ofDatabase ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return wrapSpan(tracer.startSpan(name, { kind, attributes }, context), context);
    },
    run: (span, work) => running.run(span, work),
    stop: async () => {
      const inTime = new AbortController();
      const sent = provider.shutdown().catch((error) => logger.warn({ err: error }, 'the last traces were not sent'));
      await Promise.race([sent, setTimeout(FLUSH_TIME, undefined, { signal: inTime.signal })]);
      inTime.abort();
    },
  };
};

const propagator = new W3CTraceContextPropagator();
const headerGetter: TextMapGetter<IncomingHttpHeaders> = { keys: Object.keys, get: (headers, name) => headers[name] };

/** Who sends the spans; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word. */
const describeStore = () =>
  resourceFromAttributes({ 'service.name': 'plant-store', 'service.version': version }).merge(
    detectResources({ detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector] }),
  );

/** What OpenTelemetry has to say goes into the log. It knows one place for that in a process. */
const reportTo = (logger: Logger) => {
  setGlobalErrorHandler((error) => logger.warn({ err: error }, 'traces could not be sent'));
  const warn = (message: string) => logger.warn({ message }, 'tracing');
  const ignore = () => {};
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
};
