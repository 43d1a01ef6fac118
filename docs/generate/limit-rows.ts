/** How a number is written: bytes, milliseconds, seconds, or as it is. */
export type Unit = 'bytes' | 'ms' | 's' | 'number';

/** `limit`: a name of test/support/limits/find-limits.ts. `setting`: what changes it. By default, nothing does. */
export type LimitRow = {
  limit: string;
  what: string;
  unit?: Unit;
  setting?: string;
  value?: (found: number) => number;
};

const row = (limit: string, what: string, unit: Unit = 'number', setting?: string): LimitRow => ({
  limit,
  what,
  unit,
  ...(setting !== undefined && { setting }),
});

export const sections: Record<string, LimitRow[]> = {
  'Plants, pages and searches': [
    row('plants/plant.ts MIN_INT64', 'the smallest id'),
    row('plants/plant.ts MAX_INT64', 'the largest id'),
    row('plants/plant.ts MAX_LIMIT', 'plants on a page, at most (`limit`)'),
    row('plants/plant.ts DEFAULT_LIMIT', 'plants on a page without `limit`'),
    row('plants/plant-pages.ts MAX_PAGE_BYTES', 'names and tags on a page; a longer page ends early', 'bytes'),
    row('plants/plant.ts MAX_IDS', 'ids in one request (`id`)'),
    row('plants/plant.ts MAX_CHANGED', 'plants that one change of many plants changes, at most (`limit`)'),
    row('plants/plant.ts MAX_Q_LENGTH', 'characters of `q`'),
    row(
      'request-limits.ts MAX_SEARCHES',
      'searches by name at once, at most, and as many by tag (2 with the default)',
      'number',
      '`DATABASE_CONNECTIONS`',
    ),
  ],
  'Request bodies': [
    row('config/config.ts MAX_BODY_LIMIT', 'the largest `BODY_LIMIT`: a 256th of the heap', 'bytes'),
    row(
      'bodies/read-json-body.ts COMPRESSION_OVERHEAD',
      'by how much a compressed body may exceed `BODY_LIMIT` as it arrives',
      'bytes',
    ),
    row('bodies/exact-json.ts MAX_DEPTH', 'levels of nesting in JSON, or in an element of an imported array'),
    row(
      'bodies/exact-json.ts MAX_SEPARATORS',
      'commas and opening brackets in JSON, or in an element of an imported array',
    ),
    row(
      'request-limits.ts HELD_BYTES',
      'what bodies and unsent responses hold together; over it, the oldest of the token that holds most is dropped',
      'bytes',
    ),
    row('bodies/read-json-body.ts LARGE_BODY', 'the size over which bodies are parsed one at a time', 'bytes'),
    row('bodies/stream-body.ts FREE_PIECES', 'pieces of any size in which a body may arrive'),
    row('bodies/stream-body.ts MIN_AVERAGE_PIECE', 'the average size of its pieces after that', 'bytes'),
    row(
      'http/handle-error.ts MAX_DISCARDED',
      'the body of a refused request that is still read; after a larger one the connection is closed',
      'bytes',
    ),
  ],
  'Headers and messages': [
    row('server/http-server.ts MAX_HEADER_FIELDS', 'header fields of a request (with the URL, 16 KiB)'),
    row('idempotency/keyed-request.ts MAX_LENGTH', 'characters of an `Idempotency-Key`'),
    row('sql idempotency_keys_answer_check', 'the response that is kept for a key', 'bytes'),
    row('idempotency/stored-responses.ts MAX_ATTEMPTS', 'attempts to store the response to a key'),
    row('observability/request-log.ts {1,128}', 'characters of an `X-Request-Id`'),
    row('server/client-errors.ts {1,64}', 'characters of an unknown method that still gets error 1202'),
    row('http/parse-request.ts MAX_NAMED', 'wrong parameters that a message names'),
    row('quote-value.ts MAX_LENGTH', 'characters of a wrong value in a message'),
    row('quote-value.ts MAX_SIZE', 'the size of a wrong value in a message', 'bytes'),
    row('http/handle-error.ts SHOWN_PATH', 'characters of a path in a message'),
    row('http/headers.ts MAX_AGE', 'how long a browser may keep the response to a preflight request', 's'),
  ],
  Times: [
    row(
      'RequestLimits lookUpTimeout',
      'looking up a token, or counting a request',
      'ms',
      'a fifth of `REQUEST_TIMEOUT`',
    ),
    row(
      'RequestLimits deadline',
      'storing, reading or changing plants, including all waits',
      'ms',
      'four fifths of `REQUEST_TIMEOUT`',
    ),
    row('RequestLimits statementTimeout', 'a statement', 'ms', 'three fifths of `REQUEST_TIMEOUT`'),
    row(
      'database/silence-timeout.ts FACTOR',
      'the silence of PostgreSQL after which a connection is closed, as a multiple of the time of a statement',
    ),
    row(
      'RequestLimits connectTimeout',
      'opening a connection to PostgreSQL',
      'ms',
      'at most a fifth of `REQUEST_TIMEOUT`',
    ),
    row(
      'RequestLimits lockTimeout',
      'waiting for a locked plant before its writes move to the queue `lockedPlants`',
      'ms',
      'at most a tenth of `REQUEST_TIMEOUT`',
    ),
    row(
      'database/check-databases.ts MAX_LOCK_TIMEOUT',
      'the longest `lock_timeout` that the role may have behind a pooler',
      'ms',
    ),
    row('plants/plant-repository.ts MAX_ATTEMPTS', 'attempts at a change while others change the same plant'),
    row(
      'shutdown.ts DATABASE_CLOSE_TIME',
      'the part of `SHUTDOWN_TIMEOUT` that is kept for closing the connections to PostgreSQL, at most',
      'ms',
    ),
    row('health/health.ts MAX_AGE', 'how long the connection of `/readyz` is kept while requests have none', 'ms'),
    row('database/migrate.ts LOCK_TIMEOUT', 'how long a migration waits for a lock at a time', 'ms'),
    row(
      'database/database.ts COMMAND_CONNECT_TIMEOUT',
      'how long a command waits for a connection to PostgreSQL',
      'ms',
    ),
    row('commands/with-database.ts STATEMENT_TIMEOUT', 'a statement of `plant-store token`', 'ms'),
  ],
  Queues: [
    row('RequestLimits queueItems', 'requests that wait in a queue', 'number', '`QUEUE_LIMIT`'),
    row('RequestLimits queueBytes', 'the memory of the requests that wait in a queue', 'bytes'),
  ],
  'Imports and exports': [
    row('RequestLimits imports.count', 'imports in progress per process, half of them of one token'),
    row('RequestLimits exports.count', 'exports in progress per process, half of them of one token'),
    row('RequestLimits exports.timeout', 'how long an export may take', 'ms', '`EXPORT_TIMEOUT`'),
    row(
      'RequestLimits exports.stallTimeout',
      'how long the client of an export may stop reading; up to twice that after it has read a part',
      'ms',
    ),
    row('RequestLimits imports.rowTimeout', 'how long the client of an import may send no complete row', 'ms'),
    row(
      'RequestLimits imports.lockTimeout',
      'how long an import waits for a plant that another transaction has locked',
      'ms',
    ),
    row(
      'imports/import-session.ts QUICK_TIMEOUT',
      'how long PostgreSQL may be silent after the first statement of an import or a slice of its rows, plus a quarter',
      'ms',
    ),
    row('RequestLimits imports.grace', 'how long the statement of an import may take to end when it is canceled', 'ms'),
    row('imports/import.ts DEFAULT_MAX_ERRORS', 'failed rows without `maxErrors`'),
    row('imports/import.ts MAX_ERRORS', 'the largest `maxErrors`'),
    row('imports/import-plants.ts MAX_SLICE_ROWS', 'rows that an import stores without a temporary table'),
    row('imports/import-plants.ts MAX_SLICE_LENGTH', 'characters that an import stores without a temporary table'),
    row('imports/read-csv.ts MAX_FIELDS', 'fields in a row of CSV'),
    row('imports/read-csv.ts MAX_ID_LENGTH', 'characters of an id in CSV, leading zeros included'),
    row('imports/read-csv.ts MAX_HEAD', 'the start of a CSV file from which its delimiter is recognized', 'bytes'),
    row('bodies/stream-body.ts MAX_AHEAD', 'what the service reads ahead of an import', 'bytes'),
    row(
      'RequestLimits tokenCheckInterval',
      'the time between two checks of the token while a body or response streams',
      'ms',
    ),
    row('commands/import-files.ts MAX_ARRAY_BYTES', 'a JSON array that `plant-store import` reads', 'bytes'),
    row(
      'commands/remote-service.ts MAX_RESPONSE',
      'a response that a command with `--url` reads, except an export',
      'bytes',
    ),
    row('commands/import-command.ts MAX_SHOWN', 'failed rows that `plant-store import` prints'),
    row('commands/output.ts TERMINAL_INTERVAL', 'the time between two updates of progress on a terminal', 'ms'),
    row('commands/output.ts LINE_INTERVAL', 'the time between two lines of progress elsewhere', 'ms'),
  ],
  'Tokens and rates': [
    { ...row('commands/option-parsers.ts {0,63}', 'characters of the name of a token'), value: (found) => found + 1 },
    row('commands/option-parsers.ts {1,63}', 'characters of the name of a slot'),
    row('commands/option-parsers.ts MAX_VALIDITY', 'how long a token may be valid', 'ms'),
    row('tokens/token-verifier.ts TRUST_DURATION', 'how long a token is trusted without another look-up', 'ms'),
    row(
      'tokens/token-verifier.ts MAX_KNOWN_TOKENS',
      'tokens that are trusted at once; if more are in use, some are looked up more often',
    ),
    row('tokens/failed-tokens.ts MAX_FAILURES', 'wrong tokens of an address in a window, at one process'),
    row('tokens/failed-tokens.ts WINDOW', 'the length of that window', 'ms'),
    row('tokens/failed-tokens.ts MAX_ADDRESSES', 'addresses whose wrong tokens are counted'),
    row('config/variable-kinds.ts MAX_WINDOW', 'the longest window of `RATE_LIMIT`', 's'),
    row(
      'tokens/rate-limit.ts MAX_BLOCKED',
      'tokens and addresses over `RATE_LIMIT` that are refused without a statement',
    ),
  ],
  'JWTs of an identity provider': [
    row('tokens/jwt-verifier.ts CLOCK_TOLERANCE', 'how far the clocks may differ', 's'),
    row('tokens/jwt-verifier.ts MAX_TRIED_KEYS', 'keys that are tried for a JWT without a key id'),
    row('tokens/jwt-verifier.ts {1,128}', 'characters of a subject that the log shows as it is'),
    row('tokens/jwt-verifier.ts REFRESH_AGE', 'the age at which the keys are fetched again', 'ms'),
    row('tokens/jwt-verifier.ts MAX_AGE', 'how long they are used while the provider is unreachable', 'ms'),
    row('tokens/jwt-verifier.ts COOLDOWN', 'the time between two fetches for an unknown key id', 'ms'),
    row('tokens/jwt-verifier.ts FETCH_INTERVAL', 'the time between two fetches after a failure', 'ms'),
    row('tokens/jwt-verifier.ts FETCH_TIMEOUT', 'how long a fetch may take', 'ms'),
    row('tokens/jwt-verifier.ts MAX_SIZE', 'the size of the keys', 'bytes'),
  ],
  Connections: [
    row(
      'observability/metrics-server.ts MAX_METRICS_CONNECTIONS',
      'connections to the port of the metrics; a further one replaces an idle one',
    ),
    row('server/lingering.ts LINGER_TIMES.idle', 'how long a client whose request was refused may send nothing', 'ms'),
    row('server/lingering.ts LINGER_TIMES.total', 'how long such a client may take to send the rest', 'ms'),
    row('server/lingering.ts STOPPING_TIME', 'how long it may take while the service stops', 'ms'),
    row('server/lingering.ts MAX_LINGERING', 'connections of such clients at once'),
    row(
      'server/connections.ts WARNING_INTERVAL',
      'the time between two warnings of too many connections, at least',
      'ms',
    ),
  ],
  'Memory, log and housekeeping': [
    {
      ...row('config/config.ts HEAP_MIB', "V8's heap", 'bytes', '`--max-old-space-size`'),
      value: (found) => found * 1_048_576,
    },
    row(
      'observability/logger.ts MAX_WAITING',
      'lines of the log that wait while it cannot be written; further ones are dropped',
      'bytes',
    ),
    row('observability/request-log.ts MAX_FAILURES', 'requests with the same error that have a line each, per second'),
    row('observability/request-log.ts MAX_PATH', 'characters of a path in a line of the log'),
    row('observability/ask-workers.ts REPLY_TIMEOUT', 'how long a worker may take to return its metrics', 'ms'),
    row('observability/tracing.ts FLUSH_TIMEOUT', 'how long the service sends traces while it stops', 'ms'),
    row('database/inspect-database.ts HOUR', 'the time between two warnings that PostgreSQL can lose plants', 'ms'),
    row('RequestLimits sweepInterval', 'the time between two searches for expired rows', 'ms'),
    row('database/sweep.ts DELETED_AT_ONCE', 'expired rows that one statement deletes'),
    row('database/sweep.ts PAUSE', 'the pause between two such statements', 'ms'),
    row('config/variable-kinds.ts {1,10}', 'digits of a duration in a setting'),
    row('config/variable-kinds.ts {1,16}', 'digits of a number in a setting'),
  ],
};

/** The queues in the order of the page. `alone`: each batch has one request. */
export const queues: Record<string, { requests: string; alone?: true }> = {
  writes: { requests: '`POST /plants`' },
  reads: { requests: '`GET /plants/{id}`' },
  pages: { requests: '`GET /plants` without `id`, `tag` and `q`' },
  longReads: {
    requests: 'plants over 16 KiB, pages with a plant over 1 KiB, and `GET /plants` with `id`',
    alone: true,
  },
  searches: {
    requests:
      'searches by `q`, counts, and changes of many plants; `tagSearches`, a queue like this one, has searches by `tag` only',
    alone: true,
  },
  changes: { requests: '`PUT`, `PATCH`, `DELETE`', alone: true },
  lockedPlants: { requests: 'writes of plants that another transaction has locked', alone: true },
  newTokens: { requests: 'look-ups of tokens that are not known' },
  tokens: { requests: 'look-ups of known tokens, and counts for `RATE_LIMIT`' },
};

/** Limits that the table of queues shows, or that no client or operator can notice by their value. */
export const withoutRow: string[] = [
  'RequestLimits batches',
  'RequestLimits batchItems',
  'RequestLimits batchBytes',
  'RequestLimits gatherTime',
  // That of HELD_BYTES.
  'RequestLimits heldBytes',
  // The digits of the largest id.
  'bodies/exact-json.ts INT64_DIGITS',
  'plants/plant.ts {0,18}',
  // How work is divided.
  'bodies/stream-body.ts PIECES_PER_LINE',
  'bodies/stream-body.ts MIN_LINE',
  'bodies/stream-body.ts PIECE_OVERHEAD',
  'bodies/stream-body.ts MAX_MERGED',
  'database/row-stream.ts PIECE',
  'plants/plant-pages.ts MAX_SHARED_PLANT_BYTES',
  'plants/plant-repository.ts MAX_SHARED_READ_BYTES',
  'server/open-files.ts OTHER_FILES',
  'server/read-in-slices.ts SLICE',
  'server/read-in-slices.ts TURN',
  'database/database.ts CONNECT_TIMEOUT',
  'database/database.ts CONNECT_INTERVALS',
  'database/database.ts REFUSED_PAUSE',
  'database/database.ts NOTES',
  'database/database.ts MAX_NOTED',
  'tokens/token.ts MAX_TIME',
  'tokens/token-verifier.ts NOTE_PAUSE',
  'observability/outage-watch.ts PAUSE',
  'observability/request-log.ts SECOND',
  'commands/stop-signal.ts SAME_SIGNAL_TIME',
  'server/connections.ts ARRIVAL_TIME',
  'changes/follow-changes.ts MAX_UNANSWERED',
  'http/parse-request.ts {1,60}',
];
