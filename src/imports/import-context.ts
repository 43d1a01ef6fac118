import type { ImportRepository } from './import-repository.ts';
import type { ImportRow } from './import-row.ts';
import type { ImportCounts } from './import-summary.ts';

/** `storedUpTo`: every row up to this line is stored or failed. */
export type ImportProgress = ImportCounts & { storedUpTo: number };

/** Reads the rows of an import. Throws once the signal is aborted, even while it waits for bytes. */
export type ReadRows = (signal: AbortSignal) => AsyncIterable<ImportRow>;

export type ImportContext = {
  repository: ImportRepository;
  /** Stops the import before its next row. */
  signal: AbortSignal;
  /** Called after each chunk. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};
