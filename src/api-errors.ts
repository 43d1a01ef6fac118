import { OverloadedError } from './batching/batch-queue.ts';
import { classifyDatabaseError, OutcomeUnknownError } from './database/database-error.ts';
import { DatabaseNotMigratedError } from './database/migration-state.ts';
import { ApiError, type ErrorCode, unavailable } from './http/api-error.ts';
import { commonErrors } from './http/common-errors.ts';
import { toImportApiError } from './imports/import-api-errors.ts';
import { plantErrorCodes, toPlantApiError } from './plants/plant-api-errors.ts';
import { tokenErrorCodes, toTokenApiError } from './tokens/token-api-errors.ts';

/** Every error that the service responds with, in the order of codes. README.md is checked against it. */
export const errorCodes: readonly ErrorCode[] = [commonErrors, tokenErrorCodes, plantErrorCodes]
  .flatMap((errors) => Object.values<ErrorCode>(errors))
  .sort((a, b) => a.code - b.code);

/** Maps everything that is thrown to a response. Responses never reveal internals. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : (toPlantApiError(error) ??
      toTokenApiError(error) ??
      toImportApiError(error, toApiError) ??
      toCommonApiError(error));

const toCommonApiError = (error: unknown): ApiError => {
  // Express cannot decode a parameter of the path.
  if (error instanceof URIError)
    return new ApiError(commonErrors.parameterWrong, 'The path is not percent-encoded UTF-8.');
  if (error instanceof OverloadedError)
    return unavailable(commonErrors.overloaded, error, `${error.message} Try again later.`);
  if (error instanceof OutcomeUnknownError)
    return unavailable(commonErrors.databaseUnreachable, error, OUTCOME_UNKNOWN);
  if (error instanceof DatabaseNotMigratedError) return unavailable(commonErrors.databaseNotMigrated, error);
  switch (classifyDatabaseError(error)) {
    case 'notMigrated':
      return unavailable(commonErrors.databaseNotMigrated, error);
    case 'busy':
      return unavailable(commonErrors.overloaded, error, BUSY);
    case 'conflict':
      return unavailable(commonErrors.overloaded, error, CONFLICT);
    case undefined:
      return new ApiError(commonErrors.internal, undefined, { cause: error });
    default:
      return unavailable(commonErrors.databaseUnreachable, error);
  }
};

const BUSY = 'All connections to the database are in use; nothing was changed. Try again later.';
const CONFLICT = 'Concurrent changes to the same plants conflicted; nothing was changed. Try again later.';
const OUTCOME_UNKNOWN =
  'The database was lost or took too long. The outcome is unknown. Retry; after a POST, code 1004 then means that the ' +
  'plant was stored.';
