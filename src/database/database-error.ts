/** What a failure of the database means to whoever sent the request; undefined: it is a fault of the store. */
export type DatabaseFailure = 'unreachable' | 'notMigrated' | undefined;

/** Prisma's code P1xxx: no connection; P2024 and P2037: none is free (https://pris.ly/d/errors). */
const UNREACHABLE_CODES = /^(P1\d{3}|P2024|P2037)$/;
/**
 * SQLSTATE classes (PostgreSQL, appendix A): connection exception, read-only transaction (a standby), insufficient
 * resources (a full disk), a database that takes no connections, operator intervention (a shutdown), system error.
 */
const UNREACHABLE_STATES = /^(08...|25006|53...|55000|57P..|58...)$/;
/** The driver throws these without a code (pg-pool 3, pg 8). */
const UNREACHABLE_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Query read timeout)/;
/** A table or a column that is not there. */
const NOT_MIGRATED = /^(P2021|P2022|42P01|42703)$/;

export const classifyDatabaseError = (error: unknown): DatabaseFailure => {
  const codes = errorCodes(error);
  if (codes.some((code) => NOT_MIGRATED.test(code))) return 'notMigrated';
  const unreachable =
    codes.some((code) => UNREACHABLE_CODES.test(code) || UNREACHABLE_STATES.test(code)) ||
    (error instanceof Error && UNREACHABLE_MESSAGES.test(error.message));
  return unreachable ? 'unreachable' : undefined;
};

/** By the code, as the columns that Prisma names are not to be relied on (https://github.com/prisma/prisma/issues/28953). */
export const isUniqueViolation = (error: unknown): boolean => errorCodes(error).includes('P2002');

/** Prisma's code and, beneath it, PostgreSQL's SQLSTATE. */
const errorCodes = (error: unknown): string[] => {
  const { code, meta } = error as {
    code?: string;
    meta?: { driverAdapterError?: { cause?: { originalCode?: string } } };
  };
  return [code, meta?.driverAdapterError?.cause?.originalCode].filter((text) => text !== undefined);
};
