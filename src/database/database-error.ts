/**
 * What a database failure means for the request. Undefined: a bug, or a row that PostgreSQL rejected.
 * - `unreachable`: the statement never ran
 * - `busy`: the statement never ran, because no connection of the pool became free in time
 * - `interrupted`: the connection broke or timed out while the statement ran; the outcome is unknown
 * - `conflict`: PostgreSQL aborted the statement in favor of a concurrent one; it may be retried
 * - `notMigrated`: a table or column is missing
 */
type DatabaseFailure = 'unreachable' | 'busy' | 'interrupted' | 'conflict' | 'notMigrated' | undefined;

/**
 * The codes of each failure: Prisma's (https://pris.ly/d/errors), the kinds of its driver adapter (for raw queries, the
 * only specific code), PostgreSQL's SQLSTATE (appendix A of its manual), and the operating system's.
 */
const FAILURES: [Exclude<DatabaseFailure, undefined>, RegExp][] = [
  // `toConnectError`, and PgBouncer's message when a client has waited too long for a connection.
  [
    'unreachable',
    /^(No connection to the database: |query_wait_timeout|pgbouncer cannot connect to server|server login )/,
  ],
  ['notMigrated', /^(P2021|P2022|42P01|42703)$/],
  ['conflict', /^(P2034|40001|40P01)$/],
  // 57P01 and 57P02: the server closed the connection; 57014: it canceled the statement; 08…: connection exceptions.
  [
    'interrupted',
    /^(P1008|P1017|ConnectionClosed|SocketTimeout|57P01|57P02|57P05|57014|0800[0367]|08P01|ECONNRESET|EPIPE)$/,
  ],
  // 25006: a read-only standby; 28…: wrong password; 3D000: no such database; 53…: out of memory, disk or connections;
  // 55000: the database accepts no connections; 57P03: the server is starting or stopping; 58…: its disk failed.
  ['unreachable', /^(P1\d{3}|P2024|P2028|P2037|08...|25006|28...|3D000|53...|55000|57P..|58...)$/],
  ['unreachable', /^(DatabaseNotReachable|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ETIMEDOUT)$/],
  // Certificates and TLS handshakes, from Node.js and OpenSSL (https://nodejs.org/api/tls.html#x509-certificate-error-codes).
  [
    'unreachable',
    /^(TlsConnectionError|UNABLE_TO_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|CERT_\w+|HOSTNAME_MISMATCH|ERR_(TLS|SSL)_\w+|EPROTO)$/,
  ],
  // The messages of errors that the driver throws without a code (pg-pool 3, pg 8).
  ['busy', /^timeout exceeded when trying to connect/],
  ['unreachable', /^(timeout expired|Query read timeout|Connection terminated due to connection timeout|SASL: )/],
  ['unreachable', /^(The server does not support SSL|There was an error establishing an SSL)/],
  ['interrupted', /^(Connection terminated|Client has encountered a connection error)/],
  // Citus lost a worker; its code is XX000.
  ['interrupted', /^failure on connection marked as essential/],
];

/** The database was lost, or did not respond in time, during a write. Whether the write took effect is unknown. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** The error of opening a connection, whatever its code: no statement was sent. */
export const toConnectError = (error: Error): Error =>
  classifyDatabaseError(error) === 'unreachable'
    ? error
    : new Error(`No connection to the database: ${error.message}`, { cause: error });

/** The error of a write: its outcome is unknown if the connection broke or timed out. */
export const toWriteError = (error: unknown): Error =>
  classifyDatabaseError(error) === 'interrupted'
    ? new OutcomeUnknownError('The database connection was lost during a write.', { cause: error })
    : (error as Error);

export const classifyDatabaseError = (error: unknown): DatabaseFailure => {
  const texts = error instanceof Error ? [...errorCodes(error), error.message] : errorCodes(error);
  return FAILURES.find(([, pattern]) => texts.some((text) => pattern.test(text)))?.[0];
};

const hasCode = (pattern: RegExp) => (error: unknown) => errorCodes(error).some((code) => pattern.test(code));

/**
 * By the code, Prisma's or PostgreSQL's, because Prisma's column names are unreliable
 * (https://github.com/prisma/prisma/issues/28953).
 */
export const isUniqueViolation = hasCode(/^(P2002|23505)$/);

/** PostgreSQL canceled a statement after `statement_timeout` (57014, as for pg_cancel_backend). */
export const isStatementTimeout = hasCode(/^57014$/);

/** A statement waited longer than `lock_timeout` for another transaction, and changed nothing. */
export const isLockTimeout = hasCode(/^55P03$/);

/**
 * PostgreSQL rejected a row: a data exception (22…), a violated constraint (23…), a value that exceeds a limit such as that of
 * an index (54…), or an exception raised by a trigger (P0001).
 */
export const isRowRefusal = hasCode(/^(2[23]|54)\w{3}$|^P0001$/);

/** The role lacks a privilege, for example on a table, or to connect to the database. */
export const isPrivilegeMissing = hasCode(/^42501$/);

type DriverAdapterError = { originalCode?: string; originalMessage?: string; kind?: string };

/** What Prisma's driver adapter caught. */
const adapterCause = (error: unknown) =>
  (error as { meta?: { driverAdapterError?: { cause?: DriverAdapterError } } } | null | undefined)?.meta
    ?.driverAdapterError?.cause;

/** PostgreSQL's message, which Prisma replaces with its own. */
export const originalMessage = (error: unknown): string | undefined => adapterCause(error)?.originalMessage;

/** Prisma's code, and the codes and the message of its driver adapter, or the driver's own. */
const errorCodes = (error: unknown): string[] => {
  const { code } = (error ?? {}) as { code?: string };
  const cause = adapterCause(error);
  return [code, cause?.originalCode, cause?.kind, cause?.originalMessage].filter((text) => text !== undefined);
};
