import type { DatabaseFailure } from '../database/database-error.ts';
import type { ImportCounts, ImportOptions, RowError } from './import.ts';

type Interruption = {
  cause: unknown;
  /** Every row up to this line is stored or failed; 0 if no row is known to be stored. */
  storedUpTo: number;
  counts: ImportCounts;
  /** As in an ImportSummary. */
  errors: RowError[];
};

/** An import ended before its whole input was read. The message says what is stored, and how to continue. */
export class ImportInterruptedError extends Error {
  override name = 'ImportInterruptedError';
  readonly storedUpTo: number;
  readonly counts: ImportCounts;
  readonly errors: RowError[];

  constructor(advice: string, { cause, storedUpTo, counts, errors }: Interruption) {
    super(advice, { cause });
    this.storedUpTo = storedUpTo;
    this.counts = counts;
    this.errors = errors;
  }
}

/** Failures that undid a chunk. Their usual messages promise that nothing was changed, but earlier chunks may be stored. */
export const UNDONE_CHUNK: Partial<Record<DatabaseFailure, string>> = {
  busy: 'All connections to the database are in use.',
  locked: 'Another transaction has locked the plants.',
  cancelled: 'The database took too long.',
  conflict: 'Concurrent changes to the same plants conflicted.',
};

/** How to continue after an interruption, without storing a row twice or skipping one. */
export const adviseRepeat = ({ onConflict }: Pick<ImportOptions, 'onConflict'>): string =>
  `Repeat the import with onConflict=${onConflict === 'replace' ? 'replace' : 'skip'}.`;

/** An import needs a session to tell which ids occurred in it, and connections go through a pooler. Nothing is stored. */
export class ImportNeedsSessionError extends Error {
  override name = 'ImportNeedsSessionError';

  constructor() {
    super(
      'Imports with dryRun or onConflict=replace need DIRECT_URL, a URL of PostgreSQL without a pooler, which the operator has ' +
        'not set. Nothing is stored. Only with atomic=true do they work without it.',
    );
  }
}

/** An atomic import exceeds the limits. Nothing is stored. */
export class AtomicImportTooLargeError extends Error {
  override name = 'AtomicImportTooLargeError';
}
