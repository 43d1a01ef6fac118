import { classifyDatabaseError } from '../database/database-error.ts';
import { DatabaseNotMigratedError } from '../database/migration-state.ts';
import { OutcomeUnknownError, OverloadedError, PlantIdTakenError } from '../plants/plant-errors.ts';
import { ApiError } from './api-error.ts';
import type { ErrorKind } from './error-codes.ts';

/** When a client should try again, in seconds, where nobody can know (RFC 9110 §10.2.3). */
const RETRY_AFTER = { 'Retry-After': '1' };

/** Maps every failure that is not an answer yet to one. Nothing of a fault's inside is told. */
export const toApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  if (error instanceof PlantIdTakenError) return new ApiError('idTaken', error.message);
  if (error instanceof OverloadedError)
    return unavailable('overloaded', 'The store is overloaded; try again later.', error);
  if (error instanceof OutcomeUnknownError) return unavailable('databaseUnreachable', OUTCOME_UNKNOWN, error);
  if (error instanceof DatabaseNotMigratedError) return unavailable('databaseNotMigrated', NOT_MIGRATED, error);
  switch (classifyDatabaseError(error)) {
    case 'notMigrated':
      return unavailable('databaseNotMigrated', NOT_MIGRATED, error);
    case undefined:
      return new ApiError('internal', 'The store failed; its log says why.', { cause: error });
    default:
      return unavailable('databaseUnreachable', 'The database cannot be reached; try again later.', error);
  }
};

const NOT_MIGRATED = 'The database is not migrated; run: plant-store migrate';
const OUTCOME_UNKNOWN =
  'The database was lost while the plant was being stored: it may be stored, or not. Try again later; ' +
  'if it was stored, its id is taken then.';

const unavailable = (kind: ErrorKind, message: string, cause: unknown) =>
  new ApiError(kind, message, { headers: RETRY_AFTER, cause });
