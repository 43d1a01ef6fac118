import type { ImportCounts, ImportOptions } from './import-summary.ts';

/** An import ended before its whole input was read. `cause` is the reason. */
export class ImportInterruptedError extends Error {
  override name = 'ImportInterruptedError';
  /** Every row up to this line is stored or failed; 0 if no row is known to be stored. */
  readonly storedUpTo: number;
  readonly counts: ImportCounts;
  /** Text for the user: what is stored, and how to continue. */
  readonly advice: string;

  constructor(
    cause: unknown,
    { storedUpTo, counts, advice }: { storedUpTo: number; counts: ImportCounts; advice: string },
  ) {
    super(advice, { cause });
    this.storedUpTo = storedUpTo;
    this.counts = counts;
    this.advice = advice;
  }
}

/** How to continue after an interruption, without storing a row twice or leaving out one. */
export const adviseRepeat = ({ onConflict }: Pick<ImportOptions, 'onConflict'>): string =>
  `Repeat the import with onConflict=${onConflict === 'replace' ? 'replace' : 'skip'}.`;

/** An atomic import exceeds the limits. Nothing is stored. */
export class AtomicImportTooLargeError extends Error {
  override name = 'AtomicImportTooLargeError';
}
