import { classifyDatabaseError } from '../database/database-error.ts';
import { DatabaseNotMigratedError } from '../database/migration-state.ts';
import {
  OutcomeUnknownError,
  OverloadedError,
  PlantChangedError,
  PlantIdTakenError,
  PlantUnknownError,
  SearchTimeoutError,
} from '../plants/plant-errors.ts';
import { IdentityProviderError } from '../tokens/remote-keys.ts';
import { ApiError } from './api-error.ts';
import type { ErrorKind } from './error-codes.ts';

/** When a client should try again, in seconds, where nobody can know (RFC 9110 §10.2.3). */
const RETRY_AFTER = { 'Retry-After': '1' };

/** Maps every failure that is not an answer yet to one. Nothing of a fault's inside is told. */
export const toApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  if (error instanceof PlantIdTakenError) return new ApiError('idTaken', error.message);
  if (error instanceof PlantUnknownError) return new ApiError('plantUnknown', error.message);
  if (error instanceof PlantChangedError) return new ApiError('preconditionFailed', error.message);
  // Express cannot decode a parameter of the path.
  if (error instanceof URIError) return new ApiError('parameterWrong', 'The path is not percent-encoded UTF-8.');
  if (error instanceof OverloadedError)
    return unavailable('overloaded', 'The store is overloaded; try again later.', error);
  if (error instanceof SearchTimeoutError) return unavailable('searchTooSlow', SEARCH_TOO_SLOW, error);
  if (error instanceof OutcomeUnknownError) return unavailable('databaseUnreachable', OUTCOME_UNKNOWN, error);
  if (error instanceof DatabaseNotMigratedError) return unavailable('databaseNotMigrated', NOT_MIGRATED, error);
  if (error instanceof IdentityProviderError) return unavailable('identityProviderUnreachable', NO_KEYS, error);
  switch (classifyDatabaseError(error)) {
    case 'notMigrated':
      return unavailable('databaseNotMigrated', NOT_MIGRATED, error);
    case 'conflict':
      return unavailable('overloaded', 'Others changed the same plants; nothing was done. Try again later.', error);
    case 'interrupted':
      return unavailable('databaseUnreachable', OUTCOME_UNKNOWN, error);
    case undefined:
      return new ApiError('internal', 'The store failed; its log says why.', { cause: error });
    default:
      return unavailable('databaseUnreachable', 'The database cannot be reached; try again later.', error);
  }
};

const NOT_MIGRATED = 'The database is not migrated; run: plant-store migrate';
const NO_KEYS = 'The identity provider does not give the keys that the token is checked with; try again later.';
const SEARCH_TOO_SLOW =
  'The search took too long; narrow it, for example with three or more characters of the name, or with a tag.';
const OUTCOME_UNKNOWN =
  'The database was lost or took too long: what the request was to change may be done, or not. Try again later; ' +
  'a plant that was stored after all finds its id taken then.';

const unavailable = (kind: ErrorKind, message: string, cause: unknown) =>
  new ApiError(kind, message, { headers: RETRY_AFTER, cause });
