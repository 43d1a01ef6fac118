import { z } from 'zod';
import { OperationalError } from '../errors.ts';
import { quoteValue } from '../quote-value.ts';
import {
  databaseUrl,
  digits,
  duration,
  httpUrl,
  oneOf,
  origins,
  proxies,
  rate,
  SSL_MODES,
  trustedUrl,
  wholeNumber,
} from './variable-kinds.ts';

/** The heap of the process in MiB, which the first line of src/main.ts sets. */
export const HEAP_MIB = 1024;

/**
 * In bytes. A request takes up to ten times its body: as bytes, as text with two bytes a character, as a name, for PostgreSQL and
 * for the response. A dozen of the largest bodies, which the queues and the budget of bytes admit, must fit into the
 * heap.
 */
const MAX_BODY_LIMIT = (HEAP_MIB * 1_048_576) / 256;

const variables = z.object({
  NODE_ENV: oneOf(['development', 'test', 'production'], 'development'),
  HOST: z.string().default('127.0.0.1').describe('an address to listen on'),
  PORT: wholeNumber('a TCP port', 0, 65_535, 3000),
  BASE_PATH: z
    .string()
    // No segment may be . or .. because clients remove these before they send a path (RFC 3986 §5.2.4). The health checks stay at the root.
    .regex(/^(?!\/(livez|readyz)\/?$)(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/)
    .transform((path) => path.replace(/\/$/, ''))
    .default('')
    .describe('a path such as /api/v1, but not /livez or /readyz'),
  DATABASE_URL: databaseUrl({ mayBePooled: true }),
  DIRECT_URL: databaseUrl({ mayBePooled: false }),
  DATABASE_CONNECTIONS: wholeNumber('a number of connections', 1, 1000, 10),
  DATA_DIR: z.string().default('.data').describe('a folder'),
  EMBEDDED_WAL_LEVEL: oneOf(['replica', 'logical'], 'replica'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
  LOG_FORMAT: oneOf(['auto', 'json', 'pretty'], 'auto'),
  BODY_LIMIT: wholeNumber('a number of bytes', 1, MAX_BODY_LIMIT, 1_048_576),
  IMPORT_LIMIT: digits(1, Number.MAX_SAFE_INTEGER).optional().describe('a number of bytes'),
  QUEUE_LIMIT: wholeNumber('a number of requests', 1, 1_000_000, 10_000),
  MAX_CONNECTIONS: wholeNumber('a number of connections', 1, 1_000_000, 20_000),
  METRICS_HOST: z.string().default('127.0.0.1').describe('an address to listen on'),
  METRICS_PORT: digits(0, 65_535).optional().describe('a TCP port, 0 to 65535'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl('http://localhost:4318'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl('http://localhost:4318/v1/traces'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.string().toLowerCase().default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z.string().toLowerCase().optional(),
  OTEL_SDK_DISABLED: z.string().default('false'),
  OTEL_TRACES_EXPORTER: z.string().toLowerCase().default('otlp'),
  // Platforms set values that only other SDKs know. They must not stop the service (specification of OpenTelemetry).
  OTEL_TRACES_SAMPLER: z.string().toLowerCase().default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z.string().default('1'),
  IDEMPOTENCY_RETENTION: duration('1s', '365d', '24h'),
  EXPORT_TIMEOUT: duration('1s', '7d', '1h'),
  REQUEST_TIMEOUT: duration('1s', '1h', '10s'),
  KEEP_ALIVE_TIMEOUT: duration('1s', '1d', '75s'),
  SHUTDOWN_DELAY: duration('0s', '1h', '0s'),
  SHUTDOWN_TIMEOUT: duration('1s', '1h', '10s'),
  WORKERS: z
    .string()
    .regex(/^(auto|[1-9]\d{0,2})$/)
    .transform((text) => (text === 'auto' ? text : Number(text)))
    .default(1)
    .describe('a number of processes, 1 to 999, or auto'),
  AUTH_ISSUER: z.string().optional().describe('the issuer (`iss`) of tokens, such as https://login.example.com'),
  AUTH_AUDIENCE: z
    .string()
    .optional()
    .describe('the audience (`aud`) of tokens for this service, such as https://plants.example.com'),
  AUTH_JWKS_URL: trustedUrl('https://login.example.com/jwks.json'),
  RATE_LIMIT: rate(),
  TRUST_PROXY: proxies(),
  CORS_ORIGINS: origins(),
});

/** Either all of these are set, or none. */
const IDENTITY_PROVIDER = ['AUTH_ISSUER', 'AUTH_AUDIENCE', 'AUTH_JWKS_URL'] as const;

export type VariableName = keyof typeof variables.shape;

export const variableNames = Object.keys(variables.shape) as VariableName[];

/** @returns the default of a variable as an operator would write it; empty if there is none */
export const defaultOf = (name: VariableName): string => {
  const { def } = variables.shape[name];
  return 'defaultValue' in def ? String(def.defaultValue) : '';
};

/** @returns what a variable must be, in the words of its error; undefined if it may be anything */
export const expected = (name: VariableName): string | undefined => variables.shape[name].description;

/**
 * Reads the configuration from an environment. Empty variables count as not set.
 * @throws {OperationalError} with the value and the expected value of every wrong variable
 */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const set = Object.fromEntries(
    variableNames.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  // Where traces are switched off, nothing else about them matters.
  if (set.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || set.OTEL_TRACES_EXPORTER?.toLowerCase() === 'none')
    for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) delete set[name];
  const result = variables.safeParse(set);
  const wrong = new Set(result.error?.issues.map((issue) => issue.path[0] as VariableName));
  const lines = [...wrong].map((name) => `${name} is ${shown(name, set[name])} and must be ${expected(name)}`);
  const need = (name: VariableName, reason: string) => {
    if (!set[name]) lines.push(`${name} is not set and must be ${expected(name)}, because ${reason}`);
  };
  if (set.NODE_ENV === 'production') need('DATABASE_URL', 'NODE_ENV is production');
  if (set.DIRECT_URL) need('DATABASE_URL', 'DIRECT_URL is set');
  const { PGSSLMODE } = environment;
  // The driver would ignore any other, and not encrypt.
  if (set.DATABASE_URL && PGSSLMODE && !SSL_MODES.includes(PGSSLMODE))
    lines.push(`PGSSLMODE is ${quoteValue(PGSSLMODE)} and must be one of ${SSL_MODES.join(', ')}`);
  const { PORT, METRICS_PORT } = result.data ?? {};
  if (METRICS_PORT && METRICS_PORT === PORT)
    lines.push(`METRICS_PORT is ${shown('METRICS_PORT', set.METRICS_PORT)} and must be another port than PORT`);
  const given = IDENTITY_PROVIDER.filter((name) => set[name]);
  const reason = `${given.join(' and ')} ${given.length === 1 ? 'is' : 'are'} set`;
  if (given.length > 0) for (const name of IDENTITY_PROVIDER) need(name, reason);
  if (!result.success || lines.length > 0)
    throw new OperationalError(['The configuration is wrong:', ...lines].join('\n'));
  return toConfig(result.data);
};

const toConfig = (values: z.infer<typeof variables>) =>
  Object.freeze({
    environment: values.NODE_ENV,
    host: values.HOST,
    port: values.PORT,
    basePath: values.BASE_PATH,
    databaseUrl: values.DATABASE_URL,
    /** For operations that need a session. Undefined: the database URL. */
    directUrl: values.DIRECT_URL,
    databaseConnections: values.DATABASE_CONNECTIONS,
    dataDir: values.DATA_DIR,
    embeddedWalLevel: values.EMBEDDED_WAL_LEVEL,
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT,
    bodyLimit: values.BODY_LIMIT,
    /** Of one import, after decompression. Undefined: none. */
    importLimit: values.IMPORT_LIMIT,
    queueLimit: values.QUEUE_LIMIT,
    maxConnections: values.MAX_CONNECTIONS,
    /** Undefined: no metrics. */
    metrics: values.METRICS_PORT === undefined ? undefined : { host: values.METRICS_HOST, port: values.METRICS_PORT },
    /** Undefined: no tracing. */
    tracing: toTracing(values),
    idempotencyRetention: values.IDEMPOTENCY_RETENTION,
    exportTimeout: values.EXPORT_TIMEOUT,
    requestTimeout: values.REQUEST_TIMEOUT,
    keepAliveTimeout: values.KEEP_ALIVE_TIMEOUT,
    shutdownDelay: values.SHUTDOWN_DELAY,
    shutdownTimeout: values.SHUTDOWN_TIMEOUT,
    workers: values.WORKERS,
    identityProvider:
      values.AUTH_ISSUER && values.AUTH_AUDIENCE && values.AUTH_JWKS_URL
        ? { issuer: values.AUTH_ISSUER, audience: values.AUTH_AUDIENCE, jwksUrl: values.AUTH_JWKS_URL }
        : undefined,
    rateLimit: values.RATE_LIMIT,
    trustProxy: values.TRUST_PROXY,
    corsOrigins: values.CORS_ORIGINS,
  });

const toTracing = (values: z.infer<typeof variables>) => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesEndpoint } = values;
  const url = tracesEndpoint ?? (endpoint && `${endpoint.replace(/\/$/, '')}/v1/traces`);
  if (url === undefined) return undefined;
  return {
    url,
    exporter: values.OTEL_TRACES_EXPORTER,
    protocol: values.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? values.OTEL_EXPORTER_OTLP_PROTOCOL,
    sampling: { sampler: values.OTEL_TRACES_SAMPLER, argument: values.OTEL_TRACES_SAMPLER_ARG },
  };
};

/** The configuration. Sizes are in bytes, times in milliseconds. */
export type Config = ReturnType<typeof toConfig>;

/** A URL can contain a password or a key, which must not be shown, whatever variable it is in. */
const shown = (name: VariableName, value = '') =>
  ['DATABASE_URL', 'DIRECT_URL'].includes(name) || /@|:.*[?#]/s.test(value) ? 'wrong' : quoteValue(value);
