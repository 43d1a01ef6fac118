import { setTimeout } from 'node:timers/promises';
import {
  context,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
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
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { QueueObserver } from '../batching/batch-queue.ts';
import type { BulkTrace } from '../batching/bulk.ts';
import type { Config } from '../config/config.ts';
import { version } from '../version.ts';
import { createOutageWatch, TRACES_LOST } from './outage-watch.ts';
import { pathOf } from './request-log.ts';

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
export const createTracing = (options: TracingConfig & { logger: Logger }) => {
  const { url, exporter: name, protocol, sampling, logger } = options;
  if (name !== 'otlp') logger.warn('OTEL_TRACES_EXPORTER is not supported; otlp is used');
  if (protocol !== 'http/protobuf') logger.warn('OTEL_EXPORTER_OTLP_PROTOCOL is not supported; http/protobuf is used');
  // First, because creating an exporter warns of wrong variables.
  logWarnings(logger);
  const exporter = watchExporter(new OTLPTraceExporter({ url }), logger);
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the defaults.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'plant-store', 'service.version': version }))
      .merge(
        detectResources({
          detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
        }),
      ),
    sampler: createSampler(sampling, (message) => logger.warn(message)),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('plant-store', version);
  return {
    observeRequest: createRequestTracing({ tracer }),
    observeQueue: createQueueTracing({ tracer }),
    traceStatement: createStatementTracing({ tracer }),
    traceBulk: createBulkTracing({ tracer }),
    stop: async (): Promise<void> => {
      // The exporter's watch logs it.
      const sent = provider.shutdown().catch(() => {});
      await Promise.race([sent, setTimeout(FLUSH_TIMEOUT, undefined, { ref: false })]);
    },
  };
};

/** OpenTelemetry 3 reads OTEL_TRACES_SAMPLER only in its largest package. */
const createSampler = ({ sampler, argument }: TracingConfig['sampling'], warn: (message: string) => void): Sampler => {
  const known = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(sampler);
  if (known === null) warn('OTEL_TRACES_SAMPLER is not supported; parentbased_always_on is used');
  const [, parentBased, base] = known ?? ['', 'parentbased_', 'always_on'];
  const isRatio = /^(0|1(\.0*)?|0?\.\d+)$/.test(argument);
  if (base === 'traceidratio' && !isRatio) warn('OTEL_TRACES_SAMPLER_ARG is not a fraction, 0 to 1; 1 is used');
  const root = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(isRatio ? Number(argument) : 1),
  }[base as 'always_on']();
  return parentBased ? new ParentBasedSampler({ root }) : root;
};

/** Logs what OpenTelemetry warns of. It has one logger and one error handler per process: the last service logs for all. */
const logWarnings = (logger: Logger): void => {
  const log = (message: string) => logger.warn({ message }, 'tracing');
  diag.setLogger(
    { error: log, warn: log, info: log, debug: log, verbose: log },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
};

/** Logs when spans are lost. @returns an exporter that also logs when they are sent again */
export const watchExporter = (exporter: SpanExporter, logger: Logger): SpanExporter => {
  const watch = createOutageWatch({ logger, lines: TRACES_LOST });
  setGlobalErrorHandler((error) => watch(error as Error));
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        // The collector's response: of any size, and perhaps with the request's headers, which may have a key.
        delete (result.error as { data?: string } | undefined)?.data;
        watch(result.error);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
};

const propagator = new W3CTraceContextPropagator();

/**
 * Makes each request a span, in the client's trace if it sent one, and the parent of all spans of its work. The response
 * names it (`traceresponse`, https://w3c.github.io/trace-context/#trace-context-http-response-headers-format).
 */
const createRequestTracing =
  ({ tracer }: { tracer: Tracer }): RequestHandler =>
  (request, response, next) => {
    const { method, headers, httpVersion } = request;
    const attributes = {
      'http.request.method': method,
      'url.scheme': 'http',
      'url.path': pathOf(request),
      'network.protocol.version': httpVersion,
    };
    const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    const { traceId, spanId, traceFlags } = span.spanContext();
    response.locals.traceId = traceId;
    response.setHeader('traceresponse', `00-${traceId}-${spanId}-0${traceFlags}`);
    response.once('close', () => {
      const { headersSent, statusCode, locals } = response;
      const route = request.route?.path;
      if (route !== undefined) span.updateName(`${method} ${route}`);
      const failure = failureOf(headersSent, statusCode);
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttributes({
        'http.route': route,
        'http.response.status_code': headersSent ? statusCode : undefined,
        'plant_store.error.code': locals.error?.code,
        'error.type': failure,
      });
      span.end();
    });
    context.with(trace.setSpan(parent, span), next);
  };

/** A client error (4xx) is not a failure of the server's span (semantic conventions for HTTP server spans). */
const failureOf = (hasStatus: boolean, status: number) => {
  if (!hasStatus) return 'aborted';
  return status >= 500 ? String(status) : undefined;
};

/** The queues whose batches serve several requests. In the others a statement is a child span of its first request. */
const SHARED_QUEUES = ['writes', 'reads', 'pages'];

/**
 * Follows sampled requests through a queue into the batch that serves them. A batch belongs to the trace of its first
 * sampled request; links connect it with the queue spans of the others.
 * @returns a function that takes the queue's name
 */
export const createQueueTracing =
  ({ tracer }: { tracer: Tracer }) =>
  (queue = ''): QueueObserver<Span | undefined> => {
    if (!SHARED_QUEUES.includes(queue)) return inFirstRequest;
    const attributes = { 'plant_store.queue': queue };
    const startBatch = ([first, ...others]: Span[], size: number) => {
      if (first === undefined) return undefined;
      const options = { attributes: { ...attributes, 'plant_store.batch.items': size } };
      const batch = tracer.startSpan('batch', options, trace.setSpan(ROOT_CONTEXT, first));
      first.end();
      for (const span of others) {
        span.addLink({ context: batch.spanContext() }).end();
        batch.addLink({ context: span.spanContext() });
      }
      return batch;
    };
    return {
      enter: () => {
        const isSampled = trace.getActiveSpan()?.spanContext().traceFlags === TraceFlags.SAMPLED;
        return isSampled ? tracer.startSpan('queue', { attributes }) : undefined;
      },
      drop: (span) => span?.setAttribute('error.type', 'dropped').setStatus({ code: SpanStatusCode.ERROR }).end(),
      around: (spans, run) => {
        const sampled = spans.filter((span) => span !== undefined);
        const batch = startBatch(sampled, spans.length);
        const active = batch ? trace.setSpan(ROOT_CONTEXT, batch) : ROOT_CONTEXT;
        return context.with(active, () => run().finally(() => batch?.end()));
      },
    };
  };

/** A statement for one request, or a few look-ups. */
const inFirstRequest: QueueObserver<Span | undefined> = {
  enter: () => trace.getActiveSpan(),
  around: ([span], run) => context.with(span ? trace.setSpan(ROOT_CONTEXT, span) : ROOT_CONTEXT, run),
};

/** Ends a span with the work that it stands for. */
const endWith = async <Result>(span: Span, work: Promise<Result>): Promise<Result> => {
  try {
    return await work;
  } catch (error) {
    span.setAttribute('error.type', (error as Error).name).setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
};

/** Makes each statement of a sampled request a span. It records the text of the statement, never its parameters. */
const createStatementTracing =
  ({ tracer }: { tracer: Tracer }) =>
  async <Result>(sql: string, send: () => Promise<Result>): Promise<Result> => {
    if (trace.getActiveSpan()?.spanContext().traceFlags !== TraceFlags.SAMPLED) return send();
    const summary = summarize(sql);
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary, 'db.query.text': sql };
    return endWith(tracer.startSpan(summary, { kind: SpanKind.CLIENT, attributes }), send());
  };

/** The operation and table of a statement, such as `INSERT plants`: the first that is changed, or else read. */
const summarize = (sql: string): string => {
  const find = (words: string) =>
    new RegExp(`\\b(?<!FOR )(${words})\\s+(?:"?\\w+"?\\.)?"?(\\w+)\\b(?!\\()`, 'i').exec(sql);
  const [, words = '', table] = find('INSERT INTO|UPDATE|DELETE FROM') ?? find('FROM') ?? [];
  if (table === undefined) return 'postgresql';
  const [verb = ''] = words.toUpperCase().split(' ');
  return `${verb === 'FROM' ? 'SELECT' : verb} ${table}`;
};

/**
 * Makes an import or export one span, a child of the request's. Its statements get no spans, because they have connections of
 * their own: there is one for every hundred to thousands of rows.
 */
const createBulkTracing =
  ({ tracer }: { tracer: Tracer }): BulkTrace =>
  (name, run) => {
    const span = tracer.startSpan(name);
    const ended = run((values) => {
      for (const [key, value] of Object.entries(values))
        span.setAttribute(`plant_store.${name}.${toSnake(key)}`, value);
    });
    return endWith(span, ended);
  };

/** https://opentelemetry.io/docs/specs/semconv/general/naming/ */
const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
