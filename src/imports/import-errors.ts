import {
  classifyDatabaseError,
  type DatabaseFailure,
  isDiskFull,
  isPrivilegeMissing,
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
  readonly #onConflict: ImportOptions['onConflict'];

  constructor(cause: unknown, errors: RowError[], { onConflict }: Pick<ImportOptions, 'onConflict'>) {
    super('The import was interrupted.', { cause });
    this.isUnknown = cause instanceof OutcomeUnknownError;
    this.errors = errors;
    this.#onConflict = onConflict;
  }

  /** What is stored, and what to do. @param option writes a value of `onConflict` as it is given to the import */
  describe(option: (onConflict: string) => string): string {
    const { isUnknown } = this;
    return describeInterruption({ isUnknown, isOfFile: isOfFile(this.cause), onConflict: this.#onConflict }, option);
  }

  /** Why it ended. Undefined: a bug. */
  get reason(): string | undefined {
    const { cause } = this;
    if (cause instanceof StoreError) return cause.message;
    if (this.isUnknown) return 'The database connection was lost during the commit.';
    if (isPrivilegeMissing(cause)) return PRIVILEGE_MISSING;
    if (isDiskFull(cause)) return 'The disk of the database is full.';
    if (isTemporaryLimit(cause))
      return 'The import needs more temporary space than temp_file_limit of the database allows.';
    const failure = classifyDatabaseError(cause);
    return failure && REASONS[failure];
  }
}

type Interruption = { isUnknown: boolean; isOfFile: boolean; onConflict: string };

/** What is stored of an import that was interrupted, and what to do. */
export const describeInterruption = (
  { isUnknown, isOfFile, onConflict }: Interruption,
  option: (onConflict: string) => string,
): string => {
  if (!isUnknown) return `Nothing is stored.${isOfFile ? '' : ' Repeat the import.'}`;
  // The rows that this import stored are conflicts when it is repeated.
  const how = onConflict === 'replace' ? '' : ` with ${option('skip')}`;
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

/** Whether the file is wrong as a whole, for example its header row. Repeating the import would fail again. */
export const isOfFile = (cause: unknown) => isOfKind(cause, 'bodyNotJson', 'bodyTooLarge', 'fieldWrong');

/** The error of the response to an import that was interrupted. @param usual the error that its cause is otherwise */
export const toInterruption = (error: ImportInterruptedError, usual: StoreError): StoreError => {
  const advice = error.describe((value) => `onConflict=${value}`);
  const { kind, headers } = usual;
  return new StoreError(kind, `${error.reason ?? usual.message} ${advice}`, { headers, cause: error.cause });
};
