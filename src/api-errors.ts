import { OverloadedError } from './batching/batch-queue.ts';
import { classifyDatabaseError, OutcomeUnknownError } from './database/database-error.ts';
import { DatabaseNotMigratedError } from './database/migration-state.ts';
import { ApiError, type ErrorCode } from './http/api-error.ts';
import { commonErrors } from './http/common-errors.ts';
import { idempotencyErrorCodes, toIdempotencyApiError } from './idempotency/idempotency-api-errors.ts';
import { toImportApiError } from './imports/import-api-errors.ts';
import { plantErrorCodes, toPlantApiError } from './plants/plant-api-errors.ts';
import { tokenErrorCodes, toTokenApiError } from './tokens/token-api-errors.ts';

/** Every error that the service responds with, in the order of codes. README.md is checked against it. */
export const errorCodes: readonly ErrorCode[] = [commonErrors, tokenErrorCodes, plantErrorCodes, idempotencyErrorCodes]
  .flatMap((errors) => Object.values<ErrorCode>(errors))
  .sort((a, b) => a.code - b.code);

/** Maps everything that is thrown to a response. Responses never reveal internals. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : (toPlantApiError(error) ??
      toTokenApiError(error) ??
      toIdempotencyApiError(error) ??
      toImportApiError(error, toApiError) ??
      toCommonApiError(error));

const toCommonApiError = (cause: unknown): ApiError => {
  const { databaseNotMigrated, databaseUnreachable, internal, overloaded, parameterWrong } = commonErrors;
  // Express cannot decode a parameter of the path.
  if (cause instanceof URIError) return new ApiError(parameterWrong, 'The path is not percent-encoded UTF-8.');
  if (cause instanceof OverloadedError) return new ApiError(overloaded, `${cause.message} Try again later.`, { cause });
  if (cause instanceof OutcomeUnknownError) return new ApiError(databaseUnreachable, OUTCOME_UNKNOWN, { cause });
  const kind = cause instanceof DatabaseNotMigratedError ? 'notMigrated' : classifyDatabaseError(cause);
  if (kind === 'notMigrated') return new ApiError(databaseNotMigrated, undefined, { cause });
  if (kind === 'unreachable') return new ApiError(databaseUnreachable, UNREACHABLE, { cause });
  if (kind === 'busy') return new ApiError(overloaded, BUSY, { cause });
  if (kind === 'conflict') return new ApiError(overloaded, CONFLICT, { cause });
  return new ApiError(kind === undefined ? internal : databaseUnreachable, undefined, { cause });
};

const UNREACHABLE = 'The database cannot be reached; nothing was changed. Try again later.';
const BUSY = 'All connections to the database are in use; nothing was changed. Try again later.';
const CONFLICT = 'Concurrent changes to the same plants conflicted; nothing was changed. Try again later.';
const OUTCOME_UNKNOWN =
  'The database was lost or took too long. The outcome is unknown. Send the request again, with its Idempotency-Key if it has ' +
  'one; if not, code 1004 then means that the plant was stored.';
