import {
  classifyDatabaseError,
  type DatabaseFailure,
  isDiskFull,
  isOutOfConnections,
  isPrivilegeMissing,
  isReadOnly,
  isTemporaryLimit,
  OutcomeUnknownError,
} from '../database/database-error.ts';
import { isOfKind, StoreError } from '../errors.ts';
import type { ImportOptions, RowError } from './import.ts';

/** An import ended before its commit was confirmed. */
export class ImportInterruptedError extends Error {
  override name = 'ImportInterruptedError';
  /** Whether the connection was lost during the commit. Otherwise nothing is stored. */
  readonly isUnknown: boolean;
  /** Of the wrong rows up to then. */
  readonly errors: RowError[];
  readonly onConflict: ImportOptions['onConflict'];

  constructor(cause: unknown, errors: RowError[], { onConflict }: Pick<ImportOptions, 'onConflict'>) {
    super('The import was interrupted.', { cause });
    this.isUnknown = cause instanceof OutcomeUnknownError;
    this.errors = errors;
    this.onConflict = onConflict;
  }

  /** Why it ended. Undefined: a bug. */
  get reason(): string | undefined {
    const { cause } = this;
    if (cause instanceof StoreError) return cause.message;
    if (this.isUnknown) return 'The database connection was lost during the commit.';
    if (isPrivilegeMissing(cause)) return PRIVILEGE_MISSING;
    if (isOutOfConnections(cause)) return REASONS.busy;
    if (isReadOnly(cause)) return 'The database is read-only.';
    if (isDiskFull(cause)) return 'The disk of the database is full.';
    if (isTemporaryLimit(cause))
      return 'The import needs more temporary space than temp_file_limit of the database allows.';
    const failure = classifyDatabaseError(cause);
    return failure && REASONS[failure];
  }
}

export type Interruption = Pick<ImportInterruptedError, 'isUnknown' | 'cause' | 'onConflict'>;

/**
 * What is stored of an import that was interrupted, and what to do.
 * @param skip how the import is told to skip conflicts
 */
export const describeInterruption = ({ isUnknown, cause, onConflict }: Interruption, skip: string): string => {
  // If the file is wrong as a whole, for example its header row, repeating the import would fail again.
  const isOfFile = isOfKind(cause, 'bodyNotJson', 'bodyTooLarge', 'fieldWrong');
  if (!isUnknown) return `Nothing is stored.${isOfFile ? '' : ' Repeat the import.'}`;
  // The rows that this import stored are conflicts when it is repeated.
  const how = onConflict === 'replace' ? '' : ` with ${skip}`;
  return `It is not known whether all rows are stored or none. Repeat the import${how}.`;
};

const PRIVILEGE_MISSING =
  'The role of the service lacks a privilege: imports need TEMPORARY on the database, and SELECT, INSERT and UPDATE on plants.';

const REASONS: Record<DatabaseFailure, string> = {
  unreachable: 'The database cannot be reached.',
  interrupted: 'The database connection was lost.',
  busy: 'All connections to the database are in use.',
  locked: 'Another transaction has locked a plant.',
  cancelled: 'The database cancelled the statement.',
  conflict: 'Concurrent changes to the same plants conflicted.',
  notMigrated: 'The database is not migrated. Run: plant-store migrate.',
};

/** The error of the response to an import that was interrupted. @param usual the error that its cause is otherwise */
export const toInterruption = (error: ImportInterruptedError, usual: StoreError): StoreError => {
  const advice = describeInterruption(error, 'onConflict=skip');
  const { kind, headers } = usual;
  return new StoreError(kind, `${error.reason ?? usual.message} ${advice}`, { headers, cause: error.cause });
};
