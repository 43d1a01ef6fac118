/**
 * What a failure of the database means to whoever sent the request. Undefined: it is a fault of the store, or of
 * the row that it wrote.
 * - `unreachable`: the statement never ran
 * - `interrupted`: the connection broke, or took too long, while it ran; whether it took effect is not known
 * - `conflict`: PostgreSQL gave it up in favour of another one, and it may be tried again
 * - `notMigrated`: a table or a column is not there
 */
export type DatabaseFailure = 'unreachable' | 'interrupted' | 'conflict' | 'notMigrated' | undefined;

/**
 * Each failure's codes: Prisma's (https://pris.ly/d/errors) and the kinds of its driver adapter, which alone say it of a
 * raw query, PostgreSQL's SQLSTATE (its manual, appendix A), and the system's.
 */
const FAILURE_CODES: [Exclude<DatabaseFailure, undefined>, RegExp][] = [
  ['notMigrated', /^(P2021|P2022|42P01|42703)$/],
  ['conflict', /^(P2034|40001|40P01)$/],
  // 57P01 and 57P02: the server ended the connection; 57014: it cancelled the statement; 08…: connection exceptions.
  [
    'interrupted',
    /^(P1008|P1017|ConnectionClosed|SocketTimeout|57P01|57P02|57P05|57014|0800[0367]|08P01|ECONNRESET|EPIPE)$/,
  ],
  // 25006: a standby, which is read-only; 28…: a wrong password; 3D000: no such database; 53…: no memory, disk or
  // connection left; 55000: a database that takes no connections; 57P03: a server that starts or stops; 58…: its disk fails.
  ['unreachable', /^(P1\d{3}|P2024|P2037|08...|25006|28...|3D000|53...|55000|57P..|58...)$/],
  ['unreachable', /^(DatabaseNotReachable|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ETIMEDOUT)$/],
  // Node.js and OpenSSL about a certificate or a handshake (https://nodejs.org/api/tls.html#x509-certificate-error-codes).
  [
    'unreachable',
    /^(TlsConnectionError|UNABLE_TO_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|CERT_\w+|HOSTNAME_MISMATCH|ERR_(TLS|SSL)_\w+|EPROTO)$/,
  ],
];

/** The driver throws these without a code (pg-pool 3, pg 8). */
const FAILURE_MESSAGES: typeof FAILURE_CODES = [
  [
    'unreachable',
    /^(timeout (exceeded when trying to connect|expired)|Query read timeout|Connection terminated due to connection timeout|SASL: )/,
  ],
  ['unreachable', /^(The server does not support SSL|There was an error establishing an SSL)/],
  ['interrupted', /^(Connection terminated|Client has encountered a connection error)/],
];

export const classifyDatabaseError = (error: unknown): DatabaseFailure => {
  const codes = errorCodes(error);
  const message = error instanceof Error ? error.message : '';
  const [failure] =
    FAILURE_CODES.find(([, pattern]) => codes.some((code) => pattern.test(code))) ??
    FAILURE_MESSAGES.find(([, pattern]) => pattern.test(message)) ??
    [];
  return failure;
};

/** By the code, as the columns that Prisma names are not to be relied on (https://github.com/prisma/prisma/issues/28953). */
export const isUniqueViolation = (error: unknown): boolean => errorCodes(error).includes('P2002');

/** PostgreSQL ended a statement that took longer than `statement_timeout` (57014, which an operator's cancel has too). */
export const isStatementTimeout = (error: unknown): boolean => errorCodes(error).includes('57014');

/** PostgreSQL refused a row for what is in it: a data exception (22…) or a violated constraint (23…). */
export const isRowRefusal = (error: unknown): boolean => errorCodes(error).some((code) => /^2[23]\w{3}$/.test(code));

/** Prisma's code and, beneath it, those of its driver adapter; or the driver's own. */
const errorCodes = (error: unknown): string[] => {
  const { code, meta } = error as {
    code?: string;
    meta?: { driverAdapterError?: { cause?: { originalCode?: string; kind?: string } } };
  };
  const cause = meta?.driverAdapterError?.cause;
  return [code, cause?.originalCode, cause?.kind].filter((text) => text !== undefined);
};
