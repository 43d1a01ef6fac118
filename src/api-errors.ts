import { OverloadedError } from './batching/overloaded-error.ts';
import { classifyDatabaseError, type DatabaseFailure, OutcomeUnknownError } from './database/database-error.ts';
import { DatabaseNotMigratedError } from './database/migration-state.ts';
import { ApiError, type ErrorCode } from './http/api-error.ts';
import { commonErrors } from './http/common-errors.ts';
import { idempotencyErrorCodes, toIdempotencyApiError } from './idempotency/idempotency-api-errors.ts';
import { toImportApiError } from './imports/import-api-errors.ts';
import { plantErrorCodes, toPlantApiError } from './plants/plant-api-errors.ts';
import { tokenErrorCodes } from './tokens/token-api-errors.ts';

/** Every error that the service responds with, in the order of codes. README.md is checked against it. */
export const errorCodes: readonly ErrorCode[] = [commonErrors, tokenErrorCodes, plantErrorCodes, idempotencyErrorCodes]
  .flatMap((errors) => Object.values<ErrorCode>(errors))
  .sort((a, b) => a.code - b.code);

/** Maps everything that is thrown to a response. Responses never reveal internals. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : (toPlantApiError(error) ??
      toIdempotencyApiError(error) ??
      toImportApiError(error, toApiError) ??
      toCommonApiError(error));

const { databaseNotMigrated, databaseUnreachable, internal, overloaded, parameterWrong } = commonErrors;

const toCommonApiError = (cause: unknown): ApiError => {
  // Express cannot decode a parameter of the path.
  if (cause instanceof URIError) return new ApiError(parameterWrong, 'The path is not percent-encoded UTF-8.');
  if (cause instanceof OverloadedError) return new ApiError(overloaded, `${cause.message} Try again later.`, { cause });
  if (cause instanceof OutcomeUnknownError) return new ApiError(databaseUnreachable, OUTCOME_UNKNOWN, { cause });
  const failure = cause instanceof DatabaseNotMigratedError ? 'notMigrated' : classifyDatabaseError(cause);
  const [error, message] = failure ? DATABASE_FAILURES[failure] : [internal];
  return new ApiError(error, message, { cause });
};

/** The errors of database failures. Of each request, only one statement changes something. */
const DATABASE_FAILURES: Record<DatabaseFailure, [ErrorCode, message?: string]> = {
  notMigrated: [databaseNotMigrated],
  unreachable: [databaseUnreachable, 'The database cannot be reached; nothing was changed. Try again later.'],
  // Of a read; see `toWriteError`.
  interrupted: [databaseUnreachable],
  busy: [overloaded, 'All connections to the database are in use; nothing was changed. Try again later.'],
  locked: [overloaded, 'Another transaction has locked the data; nothing was changed. Try again later.'],
  cancelled: [overloaded, 'The statement took too long and was cancelled; nothing was changed. Try again later.'],
  conflict: [overloaded, 'Concurrent changes to the same plants conflicted; nothing was changed. Try again later.'],
};

const OUTCOME_UNKNOWN =
  'The database was lost or took too long. The outcome is unknown. Send the request again, with its Idempotency-Key if it has ' +
  'one; if not, code 1004 then means that the plant was stored.';
