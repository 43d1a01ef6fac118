import type { RowError } from './import-row.ts';

export type ImportOptions = {
  /** What to do with a row whose id is taken. */
  onConflict: 'error' | 'skip' | 'replace';
  /** Check everything and store nothing. */
  dryRun: boolean;
  /** Store all rows or none. */
  atomic: boolean;
  /** The import stops if more rows than this fail. */
  maxErrors: number;
};

export type ImportCounts = { created: number; replaced: number; skipped: number; failed: number };

/** The result of an import. The response of `POST /plants/import` has all of it except `isAccepted`. */
export type ImportSummary = ImportCounts & {
  /** The first `maxErrors` + 1 failed rows, in line order. */
  errors: RowError[];
  /** Whether the whole input was read and, in an atomic import, no row failed. */
  isAccepted: boolean;
};
