/**
 * What a database failure means for the request. Undefined: a bug, or a row that PostgreSQL rejected. Only after `interrupted` is
 * the outcome of a write unknown; after all others the statement was not sent, or PostgreSQL has undone it.
 * - `unreachable`: no connection could be opened, or the server cannot execute statements like this
 * - `busy`: no connection of the pool became free in time
 * - `interrupted`: the connection broke or timed out while the statement ran
 * - `locked`: the statement waited too long for a lock of another transaction
 * - `cancelled`: PostgreSQL canceled the statement, which took too long
 * - `conflict`: PostgreSQL aborted the statement in favor of a concurrent one; it may be retried
 * - `notMigrated`: a table or column is missing
 */
export type DatabaseFailure =
  | 'unreachable'
  | 'busy'
  | 'interrupted'
  | 'locked'
  | 'cancelled'
  | 'conflict'
  | 'notMigrated';

/**
 * The errors of connections that are open: the failure is that of the first pattern that matches the SQLSTATE that PostgreSQL sent
 * (appendix A of its manual), the code of Node.js, the kind of Prisma's driver adapter, or the message. Prisma's own code is P2010
 * for every raw query. (See docs/decisions/0049.)
 */
const FAILURES: [DatabaseFailure, RegExp][] = [
  // PgBouncer has not passed the statement on, and pg-pool has not opened a connection.
  ['unreachable', /^(query_wait_timeout|pgbouncer cannot connect to server|server login )/],
  ['unreachable', /^Connection terminated due to connection timeout/],
  ['busy', /^timeout exceeded when trying to connect/],
  ['notMigrated', /^(42P01|42703)$/],
  ['cancelled', /^57014$/],
  ['locked', /^(55P03|55006)$/],
  // PostgreSQL or a worker of Citus ended the session, possibly after it had committed.
  ['interrupted', /^(0800[0367]|08P01|25P0[34]|40003|57P0[125])$/],
  // Citus lost a worker: its own message, and those of libpq; its code is XX000.
  [
    'interrupted',
    /^(failure on connection marked as essential|server closed the connection|could not (receive|send) data|SSL (connection|SYSCALL|error)|(no )?connection (not open|to the))/,
  ],
  ['conflict', /^40...$/],
  // 25006: a read-only standby; 28…: wrong password; 3D000: no such database; 53300: too many connections; 57P03: the server is
  // starting or stopping.
  ['unreachable', /^(08...|25006|28...|3D000|53300|57P03)$/],
  // 53…: out of memory or disk; 57…: an operator intervened; 58…: the disk failed. An ERROR undoes the statement. FATAL and PANIC
  // end the session, perhaps after a commit; servers translate these words, so any other counts as one of them.
  ['unreachable', /^ERROR (53...|57...|58...)$/],
  ['interrupted', /^(53...|57...|58...)$|^(FATAL|PANIC) /],
  // The network or TLS failed, for pg (whose messages have no code), Node.js and the adapter. Not errors of files.
  ['interrupted', /^(Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout)/],
  ['interrupted', /^E(CONNRESET|CONNABORTED|PIPE|TIMEDOUT|(HOST|NET)(UNREACH|DOWN)|NETRESET|NOTCONN|NOBUFS|PROTO)$/],
  ['interrupted', /^ERR_(SSL|TLS|SOCKET)_\w+$/],
  ['interrupted', /^(ConnectionClosed|SocketTimeout)$/],
];

/** No statement was sent, or only one that changes nothing. */
export class DatabaseUnreachableError extends Error {
  override name = 'DatabaseUnreachableError';
}

/** The database was lost, or did not respond in time, during a write. Whether the write took effect is unknown. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/**
 * PostgreSQL reports a row that a policy rejects as a missing privilege (42501), and a wrong statement of a trigger like one of ours. Gives
 * the first SQL's own code, 44000, and the second, which has a context, that of external routines, 38000.
 */
export const clarifyCode = (error: { code?: string; routine?: string; where?: string }): void => {
  if (error.routine === 'ExecWithCheckOptions') error.code = '44000';
  else if (error.where !== undefined && error.code?.startsWith('42')) error.code = '38000';
};

/** The error of opening a connection, whatever its code: no statement was sent. */
export const toConnectError = (error: Error): DatabaseUnreachableError => {
  // Node.js gives no message if it tried several addresses.
  const reason = error.message || (error as NodeJS.ErrnoException).code;
  return new DatabaseUnreachableError(`No connection to the database: ${reason}`, { cause: error });
};

/** The error of a write: its outcome is unknown if the connection broke or timed out. */
export const toWriteError = (error: unknown): Error =>
  classifyDatabaseError(error) === 'interrupted'
    ? new OutcomeUnknownError('The database connection was lost during a write.', { cause: error })
    : (error as Error);

export const classifyDatabaseError = (error: unknown): DatabaseFailure | undefined => {
  if (error instanceof DatabaseUnreachableError) return 'unreachable';
  const texts = error instanceof Error ? [...errorCodes(error), error.message] : errorCodes(error);
  return FAILURES.find(([, pattern]) => texts.some((text) => pattern.test(text)))?.[0];
};

const hasCode = (pattern: RegExp) => (error: unknown) => errorCodes(error).some((code) => pattern.test(code));

export const isUniqueViolation = hasCode(/^23505$/);

/**
 * PostgreSQL canceled a statement after `statement_timeout` (57014, as for pg_cancel_backend), or ended the session after
 * `transaction_timeout`, which leaves the outcome of a write unknown.
 */
export const isStatementTimeout = hasCode(/^(57014|25P04)$/);

/**
 * The error of a write on Citus. It may be committed if the coordinator canceled it while a worker committed (57014), or lost the
 * worker (XX000, with various messages).
 */
export const toCitusWriteError = (error: unknown): Error =>
  hasCode(/^(57014|XX000)$/)(error)
    ? new OutcomeUnknownError('A worker of Citus may have committed the write.', { cause: error })
    : toWriteError(error);

/** PostgreSQL ended a statement, which changed nothing, because it and others waited for each other's locks. */
export const isDeadlock = hasCode(/^40P01$/);

/** A statement waited longer than `lock_timeout` for another transaction, and changed nothing. */
export const isLockTimeout = hasCode(/^55P03$/);

/**
 * PostgreSQL rejected a row: a data exception (22…), a violated constraint (23…) or policy (44…), a value that exceeds a
 * limit such as that of an index (54…), or an exception raised by a trigger (P0001, 45…).
 */
export const isRowRefusal = hasCode(/^(2[23]|4[45]|54)\w{3}$|^P0001$/);

/**
 * A row breaks a rule that an operator has added: a constraint (23…), a policy (44…), the length of a column (22001) or of an index
 * (54000), or the exception of a trigger (P0001, 45…). The other refusals of rows are faults.
 */
export const isRuleViolation = hasCode(/^((23|44|45)\w{3}|22001|54000|P0001)$/);

/** A worker of Citus failed while rows were copied to it. It has this code whatever the reason, and the statement stored nothing. */
export const isCitusCopyFailure = hasCode(/^XX000$/);

/** The role lacks a privilege, for example on a table, or to connect to the database. */
export const isPrivilegeMissing = (error: unknown): boolean => hasCode(/^42501$/)(connectCause(error));

/** PostgreSQL or a pooler (whose codes say less) opens no more connections, for this role or database or at all. */
export const isOutOfConnections = (error: unknown): boolean =>
  hasCode(/^53300$/)(connectCause(error)) ||
  (error instanceof DatabaseUnreachableError && /connections (allowed|exceeded|reached)/.test(originalMessage(error)));

/** A session that was idle has ended, such as by `idle_session_timeout`, just before a statement reached it, which did not run. */
export const isIdleEnd = (error: unknown): boolean =>
  hasCode(/^57P05$/)(error) || /^(client_idle_timeout|Client .* is not queryable$)/.test(originalMessage(error));

/** A table, view, index or sequence has the name of a new one. */
export const isTableTaken = hasCode(/^42P07$/);

/** The server is a standby, or the role or database is read-only. */
export const isReadOnly = hasCode(/^25006$/);

export const isDiskFull = hasCode(/^53100$/);

/** `temp_file_limit` was exceeded. */
export const isTemporaryLimit = hasCode(/^53400$/);

/** What was thrown while a connection was opened, instead of the error that says so. */
const connectCause = (error: unknown): unknown =>
  error instanceof DatabaseUnreachableError ? (error.cause ?? error) : error;

type DriverAdapterError = { originalCode?: string; originalMessage?: string; kind?: string; severity?: string };

/** What Prisma's driver adapter caught. */
const adapterCause = (error: unknown) =>
  (error as { meta?: { driverAdapterError?: { cause?: DriverAdapterError } } } | null | undefined)?.meta
    ?.driverAdapterError?.cause;

/** The message of PostgreSQL or the driver, which Prisma replaces with its own; the code if there is none. */
export const originalMessage = (error: unknown): string => {
  const { message, code } = connectCause(error) as NodeJS.ErrnoException;
  return adapterCause(error)?.originalMessage || message || code || 'unknown';
};

/** Prisma's code, and the codes and the message of its driver adapter, or the driver's own; codes also behind their severity. */
const errorCodes = (error: unknown): string[] => {
  const { code, severity } = (error ?? {}) as { code?: string; severity?: string };
  const cause = adapterCause(error);
  return [
    code,
    severity && `${severity} ${code}`,
    cause?.originalCode,
    cause?.severity && `${cause.severity} ${cause.originalCode}`,
    cause?.kind,
    cause?.originalMessage,
  ].filter((text) => text !== undefined);
};
