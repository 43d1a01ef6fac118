import { classifyDatabaseError, type DatabaseFailure, OutcomeUnknownError } from '../database/database-error.ts';
import { isOfKind, StoreError } from '../errors.ts';
import type { ImportCounts, ImportOptions, RowError } from './import.ts';

/** How to repeat an import so that no row is stored twice or skipped: unchanged, or with this `onConflict`. */
type Repeat = 'unchanged' | 'skip' | 'replace';

type Interruption = {
  cause: unknown;
  /** Every row up to this line is stored or failed; 0 if no row is known to be stored. */
  storedUpTo: number;
  counts: ImportCounts;
  /** As in an ImportSummary. */
  errors: RowError[];
  repeat?: Repeat | undefined;
};

/** An import ended before its whole input was read. The message says what is stored. */
export class ImportInterruptedError extends Error {
  override name = 'ImportInterruptedError';
  readonly storedUpTo: number;
  readonly counts: ImportCounts;
  readonly errors: RowError[];
  readonly #repeat: Repeat | undefined;

  constructor(stored: string, { cause, storedUpTo, counts, errors, repeat }: Interruption) {
    super(stored, { cause });
    this.storedUpTo = storedUpTo;
    this.counts = counts;
    this.errors = errors;
    this.#repeat = repeat;
  }

  /** What is stored, and how to continue. @param option writes a value of `onConflict` as it is given to the import */
  describe(option: (onConflict: string) => string): string {
    if (!this.#repeat) return this.message;
    const correct = isOfFile(this.cause) ? 'Correct the file first. ' : '';
    const how = this.#repeat === 'unchanged' ? '' : ` with ${option(this.#repeat)}`;
    return `${this.message} ${correct}Repeat the import${how}.`;
  }

  /** Why it ended. Undefined: a bug. */
  get reason(): string | undefined {
    const { cause } = this;
    if (cause instanceof StoreError) return cause.message;
    if (cause instanceof OutcomeUnknownError) return REASONS.interrupted;
    const failure = classifyDatabaseError(cause);
    return failure && REASONS[failure];
  }
}

/** Unlike those of other requests, they do not promise that nothing was changed: some rows may be stored. */
const REASONS: Record<DatabaseFailure, string> = {
  unreachable: 'The database cannot be reached.',
  interrupted: 'The database connection was lost or timed out.',
  busy: 'All connections to the database are in use.',
  locked: 'Another transaction has locked the plants.',
  cancelled: 'The database took too long.',
  conflict: 'Concurrent changes to the same plants conflicted.',
  notMigrated: 'The database is not migrated. Run: plant-store migrate.',
};

/** Whether the file as a whole is wrong, for example its header row. Repeating the import would fail again. */
const isOfFile = (cause: unknown) => isOfKind(cause, 'bodyNotJson', 'bodyTooLarge', 'fieldWrong');

/** How to repeat an import that may have stored rows. */
export const repeatStored = ({ onConflict }: Pick<ImportOptions, 'onConflict'>): Repeat =>
  onConflict === 'replace' ? 'replace' : 'skip';

/** The error of the response to an import that was interrupted. @param usual the error that its cause is otherwise */
export const toInterruption = (error: ImportInterruptedError, usual: StoreError): StoreError => {
  const advice = error.describe((value) => `onConflict=${value}`);
  const { kind, headers } = usual;
  return new StoreError(kind, `${error.reason ?? usual.message} ${advice}`, { headers, cause: error.cause });
};
