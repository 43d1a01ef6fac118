import { OverloadedError } from '../batching/batch-queue.ts';
import { type BulkTrace, untraced } from '../batching/bulk-trace.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import type { ReadRows } from './import-context.ts';
import { ImportInterruptedError } from './import-errors.ts';
import { importPlants } from './import-plants.ts';
import type { ImportRepository } from './import-repository.ts';
import type { ImportCounts, ImportOptions, ImportSummary } from './import-summary.ts';

/** Observes imports, for metrics. */
export type ImportObserver = {
  begin: () => void;
  /** The rows since the last call, by outcome. */
  count: (added: ImportCounts) => void;
  end: () => void;
};

/** How an import ended. `refused`: too many rows failed. */
export type ImportEnd = ImportCounts & {
  outcome: 'completed' | 'refused' | 'interrupted';
  /** Every row up to this line is stored or failed. Only present if the import was interrupted. */
  storedUpTo?: number;
};

type PlantImporterOptions = {
  repository: ImportRepository;
  /** The maximum number of concurrent imports. */
  maxImports: number;
  observer: ImportObserver | undefined;
  trace?: BulkTrace | undefined;
};

/** Runs the imports of a process. */
export const createPlantImporter = ({ repository, maxImports, observer, trace = untraced }: PlantImporterOptions) => {
  const stopping = new AbortController();
  let inProgress = 0;

  return {
    /**
     * Imports the rows that `read` returns. Calls `onEnd` once, even if the client has disconnected.
     * @throws {OverloadedError} too many imports are in progress; errors of `read` and `importPlants`
     */
    run: async (options: ImportOptions, read: ReadRows, onEnd: (end: ImportEnd) => void): Promise<ImportSummary> => {
      if (inProgress >= maxImports) throw new OverloadedError('Too many imports are in progress.');
      const { signal } = stopping;
      // Dry runs are not counted, because they store nothing.
      const onProgress = options.dryRun || !observer ? () => {} : countAdded(observer.count);
      inProgress += 1;
      observer?.begin();
      try {
        return await trace('import', async (note) => {
          const finish = (counts: ImportCounts, end: Omit<ImportEnd, keyof ImportCounts>) => {
            onProgress(counts);
            note({ ...countsOf(counts), ...end });
            onEnd({ ...countsOf(counts), ...end });
          };
          try {
            const summary = await importPlants(read, options, { repository, signal, onProgress });
            finish(summary, { outcome: summary.isAccepted ? 'completed' : 'refused' });
            return summary;
          } catch (error) {
            const { counts, storedUpTo } = error instanceof ImportInterruptedError ? error : NOTHING;
            finish(counts, { outcome: 'interrupted', storedUpTo });
            throw error;
          }
        });
      } finally {
        inProgress -= 1;
        observer?.end();
      }
    },
    /** Interrupts the imports in progress. Their responses say what is stored. */
    stop: (): void => stopping.abort(new ApiError(commonErrors.stopping, 'The service is stopping.', RETRY)),
  };
};

const RETRY = { headers: { 'Retry-After': '1' } };
const NOTHING = { counts: { created: 0, replaced: 0, skipped: 0, failed: 0 }, storedUpTo: 0 };

export const countsOf = ({ created, replaced, skipped, failed }: ImportCounts): ImportCounts => ({
  created,
  replaced,
  skipped,
  failed,
});

/** Converts running totals to increments. */
const countAdded = (count: ImportObserver['count']) => {
  let before = NOTHING.counts;
  return (counts: ImportCounts) => {
    const now = countsOf(counts);
    count({
      created: now.created - before.created,
      replaced: now.replaced - before.replaced,
      skipped: now.skipped - before.skipped,
      failed: now.failed - before.failed,
    });
    before = now;
  };
};

export type PlantImporter = ReturnType<typeof createPlantImporter>;
