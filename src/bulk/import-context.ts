import type { ImportRepository } from './import-repository.ts';
import type { ImportCounts } from './import-summary.ts';

/** `storedUpTo`: every row up to this line is stored or failed. */
export type ImportProgress = ImportCounts & { storedUpTo: number };

export type ImportContext = {
  repository: ImportRepository;
  /** Stops the import before its next row. Does not interrupt a reader that waits for bytes; the reader must do that itself. */
  signal: AbortSignal;
  /** Called after each chunk. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};
