import { classifyDatabaseError } from '../database/database-error.ts';
import { DatabaseNotMigratedError } from '../database/migration-state.ts';
import { PlantIdTakenError } from '../plants/plant-repository.ts';
import { ApiError } from './api-error.ts';

/** When a client should try again, in seconds, where nobody can know (RFC 9110 §10.2.3). */
const RETRY_AFTER = { 'Retry-After': '1' };

/** The one place that decides what a failure is answered with. Nothing of a fault's inside is told. */
export const toApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  if (error instanceof PlantIdTakenError) return new ApiError('idTaken', error.message);
  if (isUndecodablePath(error)) return new ApiError('parameterWrong', 'The path is not percent-encoded UTF-8.');
  switch (error instanceof DatabaseNotMigratedError ? 'notMigrated' : classifyDatabaseError(error)) {
    case 'unreachable':
      return new ApiError('databaseUnreachable', 'The database cannot be reached; try again later.', {
        headers: RETRY_AFTER,
        cause: error,
      });
    case 'notMigrated':
      return new ApiError('databaseNotMigrated', 'The database is not migrated; run: plant-store migrate', {
        headers: RETRY_AFTER,
        cause: error,
      });
    default:
      return new ApiError('internal', 'The store failed; its log says why.', { cause: error });
  }
};

/** Express answers a path that it cannot decode with this. */
const isUndecodablePath = (error: unknown) => error instanceof URIError;
