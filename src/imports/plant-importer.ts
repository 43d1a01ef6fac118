import { type BulkTrace, createSlots, untraced } from '../batching/bulk.ts';
import { StoreError } from '../errors.ts';
import {
  addCounts,
  type ImportCounts,
  type ImportOptions,
  type ImportSummary,
  NO_COUNTS,
  type ReadRows,
} from './import.ts';
import { ImportInterruptedError } from './import-errors.ts';
import type { Pace } from './import-pace.ts';
import { importPlants } from './import-plants.ts';
import type { ImportRepository } from './import-repository.ts';

/** How an import ended. `refused`: too many rows failed. */
export type ImportEnd = ImportCounts & {
  outcome: 'completed' | 'refused' | 'interrupted';
  /** Every row up to this line is stored or failed. Only present if the import was interrupted. */
  storedUpTo?: number;
  /** Only present if too many rows failed. */
  stoppedAt?: number;
};

type PlantImporterOptions = {
  repository: ImportRepository;
  pace: Pace;
  /** The maximum number of concurrent imports. */
  maxImports: number;
  /** How long its statements in progress may take after an import was stopped, in ms. */
  grace: number;
  /** For metrics. Gets the rows since its last call, by outcome. */
  countRows?: ((added: ImportCounts) => void) | undefined;
  trace?: BulkTrace | undefined;
};

type Import = {
  /** The name of the token, which has at most half of the slots. */
  token: string;
  query: ImportOptions;
  read: ReadRows;
  /** Stops the import. Its reason becomes the cause of the error. */
  signal: AbortSignal;
};

/** Runs the imports of a process. */
export const createPlantImporter = (options: PlantImporterOptions) => {
  const { repository, pace, maxImports, grace, countRows, trace = untraced } = options;
  const stopping = new AbortController();
  const slots = createSlots(maxImports, 'imports');

  /** @returns a function that counts the rows up to now, except in a dry run, which stores nothing */
  const startCounting = ({ dryRun }: ImportOptions) => {
    let counted: ImportCounts = NO_COUNTS;
    return (counts: ImportCounts) => {
      if (!dryRun) countRows?.(addCounts(counts, counted, -1));
      counted = counts;
    };
  };

  return {
    inProgress: slots.taken,
    /**
     * Calls `onEnd` once, even if the client has disconnected. If the signal is aborted, the import stops; its statements in
     * progress are cut off after `grace`.
     * @throws {StoreError} 1500 too many imports are in progress; errors of `read` and `importPlants`
     */
    run: async ({ token, query, read, signal }: Import, onEnd: (end: ImportEnd) => void): Promise<ImportSummary> => {
      const release = slots.take(token);
      const onProgress = startCounting(query);
      const stop = AbortSignal.any([stopping.signal, signal]);
      const cut = new AbortController();
      let graceTimer: NodeJS.Timeout | undefined;
      const startGrace = () => {
        graceTimer = setTimeout(() => cut.abort(stop.reason), grace);
      };
      stop.addEventListener('abort', startGrace, { once: true });
      try {
        return await trace('import', async (note) => {
          const finish = (counts: ImportCounts, how: Omit<ImportEnd, keyof ImportCounts>) => {
            const end = { ...counts, ...how };
            onProgress(counts);
            note(end);
            onEnd(end);
          };
          try {
            const settings = { repository, pace, signal: stop, cut: cut.signal, onProgress };
            const summary = await importPlants(read, query, settings);
            const { errors: _errors, isAccepted, stoppedAt, ...counts } = summary;
            finish(counts, { outcome: isAccepted ? 'completed' : 'refused', ...(stoppedAt && { stoppedAt }) });
            return summary;
          } catch (error) {
            const { counts, storedUpTo } = error instanceof ImportInterruptedError ? error : NOTHING;
            finish(counts, { outcome: 'interrupted', storedUpTo });
            throw error;
          }
        });
      } finally {
        stop.removeEventListener('abort', startGrace);
        clearTimeout(graceTimer);
        release();
      }
    },
    /** Interrupts the imports in progress. Their responses say what is stored. */
    stop: (): void => stopping.abort(new StoreError('stopping', 'The service is stopping.')),
  };
};

const NOTHING = { counts: NO_COUNTS, storedUpTo: 0 };

export type PlantImporter = ReturnType<typeof createPlantImporter>;
