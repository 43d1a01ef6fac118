import type { VariableName } from '../../src/config/config.ts';

/** What a setting means, in Markdown. `notes`: further sentences, as a list. */
export type Meaning = { meaning: string; notes?: string[] };

/** The settings by group, in the order of the pages. What each must be, and its default, are in src/config/config.ts. */
export const groups: Record<string, Partial<Record<VariableName, Meaning>>> = {
  'The service': {
    NODE_ENV: {
      meaning:
        'What the service runs for. Production requires `DATABASE_URL`, never starts the embedded PostgreSQL, applies no migrations and creates no token.',
    },
    HOST: { meaning: 'The address to listen on. `::` is every address, of IPv6 and IPv4.' },
    PORT: { meaning: 'The TCP port to listen on. 0: any free port.' },
    BASE_PATH: {
      meaning:
        "The path of the API's base URL: `/api/v1` makes it `POST /api/v1/plants`. Health checks stay at the root.",
    },
    WORKERS: {
      meaning:
        'The number of processes that share the port. `auto`: one per core. Each has its own `DATABASE_CONNECTIONS` and `QUEUE_LIMIT`.',
    },
  },
  PostgreSQL: {
    DATABASE_URL: {
      meaning:
        'PostgreSQL 14 or later, with a UTF-8 database. Not set: the service starts an embedded PostgreSQL 18. These parameters have a meaning of their own:',
      notes: [
        '`?host=/run/postgresql`: a Unix socket, as in `postgresql://user:password@/database?host=/run/postgresql`.',
        '`?sslmode=verify-full`: encrypts, and trusts the authorities that Node.js knows; with `sslrootcert=FILE`, those in a file. `allow`, `prefer`, `require` and `verify-ca` do the same: a server without TLS is not taken. `no-verify` trusts any certificate. Without `sslmode` and `sslrootcert`, `PGSSLMODE` decides.',
        '`?sslrootcert=system`: trusts the authorities that Node.js or the system knows. It implies `verify-full`, whatever `sslmode` says.',
        '`?schema=garden`: the schema of the service, which `plant-store migrate` creates. Without it, the search path of the role decides.',
        '`?options=`: takes the place of `PGOPTIONS`, which is ignored.',
        '`?pgbouncer=true`: the URL is that of PgBouncer in transaction mode. The role then needs a `statement_timeout` and a `lock_timeout` of its own: see docs/how-to/pgbouncer.md.',
      ],
    },
    DIRECT_URL: {
      meaning:
        'The URL of PostgreSQL itself, if `DATABASE_URL` is that of a pooler. Migrations, the search index, imports, exports, `plant-store changes` and Prisma Studio use it. It must lead to the same database and use the same schema. Not set: `DATABASE_URL`.',
    },
    DATABASE_CONNECTIONS: {
      meaning:
        'The maximum number of connections to PostgreSQL per process, besides one for `/readyz` and those of imports and exports. Use at least 2: with 1, a slow search blocks everything else.',
    },
    DATA_DIR: {
      meaning:
        'The folder for the data of the embedded PostgreSQL and for the access token of this machine. It is relative to the folder of `.env`: the clone, or for an installed package the current folder.',
    },
    EMBEDDED_WAL_LEVEL: {
      meaning:
        'How much the embedded PostgreSQL logs. `plant-store changes` needs `logical`, which writes more; with a slot it does not start without: see docs/how-to/follow-changes.md.',
    },
  },
  Log: {
    LOG_LEVEL: { meaning: 'The lowest level that is logged.' },
    LOG_FORMAT: {
      meaning:
        'How lines of the log are written. `json`: one JSON object per line. `pretty`: readable lines. `auto`: `pretty` in a terminal, otherwise `json`.',
    },
  },
  'Limits and times': {
    BODY_LIMIT: {
      meaning:
        'The maximum size of a request body, and of a row of an import, after decompression. A larger one gets error 1002.',
    },
    IMPORT_LIMIT: {
      meaning: 'The maximum size of an import, after decompression. A larger one gets error 1002. Not set: no limit.',
    },
    QUEUE_LIMIT: {
      meaning:
        'The maximum number of requests that wait in each queue: POST, reads, lists, searches, changes and locked plants. Further ones get 503, error 1500, at once.',
    },
    MAX_CONNECTIONS: {
      meaning:
        'The maximum number of open connections of clients. A further one replaces an idle one; if none is idle, it is closed at once. Each takes a file descriptor: fewer are accepted if `ulimit -n` does not leave 200 for other files.',
    },
    RATE_LIMIT: {
      meaning:
        'The maximum number of requests for each token, and for each address without a valid token. All instances on a database share the count. Counting costs SQL statements: see docs/decisions/0016-rate-limits.md. Not set: no limit.',
    },
    REQUEST_TIMEOUT: { meaning: 'How long a request may take to arrive. Its response may take as long again.' },
    EXPORT_TIMEOUT: {
      meaning:
        "How long an export may take. Until it ends, PostgreSQL's vacuum removes nothing that was changed since it began.",
    },
    IDEMPOTENCY_RETENTION: { meaning: 'How long the first response to an `Idempotency-Key` is kept.' },
  },
  'Behind a proxy': {
    TRUST_PROXY: {
      meaning:
        'The proxies in front whose `X-Forwarded-For` is trusted. A number that is too high lets clients forge their address. Names for addresses are `loopback`, `linklocal` and `uniquelocal`.',
    },
    KEEP_ALIVE_TIMEOUT: {
      meaning:
        'How long a connection may be idle before the service closes it. A proxy in front must close its connections earlier, or it may send a request on one that is just closing. Most load balancers keep them for 60 s. Those of Google Cloud keep them for 600 s: set `620s`.',
    },
    SHUTDOWN_DELAY: {
      meaning:
        'How long requests are still accepted after SIGTERM, SIGINT or SIGHUP, while `/readyz` fails: the time that the proxy in front needs to notice. 0: stop accepting connections at once.',
    },
    SHUTDOWN_TIMEOUT: { meaning: 'How long requests in progress may take to finish after that.' },
    CORS_ORIGINS: { meaning: 'The origins of web pages that may use the service from a browser.' },
  },
  'An identity provider': {
    AUTH_ISSUER: {
      meaning:
        "The issuer of the JWTs that are accepted in addition to the service's own tokens. Set all three variables of this group, or none.",
    },
    AUTH_AUDIENCE: { meaning: 'The audience of the JWTs for this service.' },
    AUTH_JWKS_URL: { meaning: 'The public keys of the identity provider (`jwks_uri`).' },
  },
  'Metrics and traces': {
    METRICS_HOST: { meaning: 'The address to listen on for metrics. `::` is every address, of IPv6 and IPv4.' },
    METRICS_PORT: {
      meaning:
        'The TCP port of `GET /metrics`, for Prometheus, and of the health checks. 0: any free port. Not set: no metrics.',
    },
    OTEL_EXPORTER_OTLP_ENDPOINT: {
      meaning: 'The OpenTelemetry collector (OTLP over HTTP). If it is set, requests are traced.',
    },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
      meaning: 'The same as a whole URL. It takes the place of `OTEL_EXPORTER_OTLP_ENDPOINT`.',
    },
    OTEL_EXPORTER_OTLP_PROTOCOL: { meaning: 'The service knows only this one; any other is a warning.' },
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
      meaning: 'The same. It takes the place of `OTEL_EXPORTER_OTLP_PROTOCOL`.',
    },
    OTEL_SDK_DISABLED: { meaning: '`true` switches traces off.' },
    OTEL_TRACES_EXPORTER: { meaning: '`none` switches traces off, too.' },
    OTEL_TRACES_SAMPLER: {
      meaning:
        'Which traces to send: `always_on`, `always_off` or `traceidratio`. With the prefix `parentbased_`, a client that sends a `traceparent` decides.',
    },
    OTEL_TRACES_SAMPLER_ARG: { meaning: 'The fraction for `traceidratio`, 0 to 1.' },
  },
};

/** Variables that the service does not read itself. `plant-store config` does not print them. */
export const otherVariables: Record<string, [names: string, meaning: string][]> = {
  'Read by commands that work with a remote service': [
    ['PLANT_STORE_URL', 'the URL of the service with its base path, unless `--url` has it'],
    ['PLANT_STORE_TOKEN', 'an access token, unless `--token-file` names a file that has it'],
    ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'the proxy to connect by'],
    ['NODE_EXTRA_CA_CERTS', 'a PEM file with certificates of authorities of your own'],
    ['NODE_USE_SYSTEM_CA', '`1`: the authorities of the system as well'],
  ],
  'Read by libraries': [
    ['PGPASSWORD', 'the password, if the URL has none'],
    [
      'PGSSLMODE',
      'the `sslmode`, if the URL has neither that nor `sslrootcert`; `allow` does not encrypt. One that is not known ends the start',
    ],
    ['OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES', 'what the traces say about the service'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'headers for the collector, such as a key'],
    [
      'OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_EXPORTER_OTLP_CERTIFICATE',
      'how to send traces',
    ],
  ],
};

/** The variables that only docker-compose.yml reads, with their meaning. Their defaults are in that file. */
export const composeVariables: Record<string, string> = {
  POSTGRES_PASSWORD:
    'The password of the owner of the tables. It takes effect on the first start only; the volume keeps it.',
  POSTGRES_STORE_PASSWORD: "The password of the service's role. It takes effect at every start.",
  POSTGRES_WAL_LEVEL: 'How much PostgreSQL logs. `plant-store changes` needs `logical`, which writes more.',
  PUBLISH_ADDRESS: 'The address of this machine on which ports are published.',
  STUDIO_PORT: 'The port of Prisma Studio.',
  PROXY_PORT: 'The port of HAProxy.',
  PLANT_STORE_IMAGE: 'The name of the image of the service.',
  HAPROXY_IMAGE: 'The image of HAProxy.',
};
