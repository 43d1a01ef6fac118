import { classifyDatabaseError } from '../database/database-error.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import {
  AtomicImportTooLargeError,
  ImportInterruptedError,
  ImportNeedsSessionError,
  UNDONE_CHUNK,
} from './import-errors.ts';

/** @param toApiError maps the cause of an interrupted import. @returns undefined for an error that is not about imports */
export const toImportApiError = (error: unknown, toApiError: (cause: unknown) => ApiError): ApiError | undefined => {
  if (error instanceof AtomicImportTooLargeError) return new ApiError(commonErrors.bodyTooLarge, error.message);
  if (error instanceof ImportNeedsSessionError) return new ApiError(commonErrors.parameterWrong, error.message);
  if (!(error instanceof ImportInterruptedError)) return undefined;
  const { cause, message: advice } = error;
  const mapped = toApiError(cause);
  const failure = classifyDatabaseError(cause);
  const usual = (failure && UNDONE_CHUNK[failure]) ?? REASONS.get(mapped.code) ?? mapped.message;
  const reason = cause instanceof ApiError || mapped.status < 500 ? mapped.message : usual;
  return mapped.withMessage(`${reason} ${advice}`, mapped.isFault ? cause : undefined);
};

/** The usual messages of these codes are about a single plant. */
const REASONS = new Map([
  [commonErrors.databaseUnreachable.code, 'The database connection was lost or timed out.'],
  [commonErrors.overloaded.code, 'The service is overloaded.'],
]);
