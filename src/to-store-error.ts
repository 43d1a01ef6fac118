import { classifyDatabaseError, type DatabaseFailure, OutcomeUnknownError } from './database/database-error.ts';
import { type ErrorKind, StoreError } from './errors.ts';
import { ImportInterruptedError, toInterruption } from './imports/import-errors.ts';

/** The error of a response, for everything that is thrown. It never reveals internals. */
export const toStoreError = (cause: unknown): StoreError => {
  if (cause instanceof StoreError) return cause;
  // An operation was aborted; the reason of its signal says why.
  const { name, cause: reason } = Object(cause) as Error;
  if (name === 'AbortError' && reason) return toStoreError(reason);
  if (cause instanceof ImportInterruptedError) return toInterruption(cause, toStoreError(cause.cause));
  // Express cannot decode a parameter of the path.
  if (cause instanceof URIError) return new StoreError('parameterWrong', 'The path is not percent-encoded UTF-8.');
  if (cause instanceof OutcomeUnknownError) return new StoreError('databaseUnreachable', OUTCOME_UNKNOWN, { cause });
  const failure = classifyDatabaseError(cause);
  const [kind, message] = failure ? DATABASE_FAILURES[failure] : (['internal'] as const);
  return new StoreError(kind, message, { cause });
};

/** The errors of database failures. Of each request, only one statement changes something. */
const DATABASE_FAILURES: Record<DatabaseFailure, [ErrorKind, message?: string]> = {
  notMigrated: ['databaseNotMigrated'],
  unreachable: ['databaseUnreachable', 'The database is not available; nothing was changed. Try again later.'],
  // Of a read; see `toWriteError`.
  interrupted: ['databaseUnreachable'],
  busy: ['overloaded', 'All connections to the database are in use; nothing was changed. Try again later.'],
  locked: ['overloaded', 'Another transaction has locked the data; nothing was changed. Try again later.'],
  cancelled: ['overloaded', 'The statement took too long and was cancelled; nothing was changed. Try again later.'],
  conflict: ['overloaded', 'Concurrent changes to the same plants conflicted; nothing was changed. Try again later.'],
};

const OUTCOME_UNKNOWN =
  'The database was lost or took too long. The outcome is unknown. Send the request again, with its Idempotency-Key if it has ' +
  'one; if not, code 1004 then means that the plant was stored.';
