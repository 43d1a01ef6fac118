import type { Logger } from 'pino';
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
import { importPlants } from './import-plants.ts';
import type { ImportSessions } from './import-session.ts';

type ImporterOptions = {
  sessions: ImportSessions;
  /** `rowTimeout`: see `importPlants`. */
  limits: { count: number; rowTimeout: number };
  trace?: BulkTrace | undefined;
};

type Import = {
  /** The name of the token, which has at most half of the slots. */
  token: string;
  query: ImportOptions;
  read: ReadRows;
  /** Ends the import. Its reason becomes the cause of the error. */
  ending: AbortController;
  /** Gets one line, even if the client has disconnected. */
  log: Pick<Logger, 'info'>;
};

/** Runs imports, within their slots. */
export const createImporter = ({ sessions, limits: { count, rowTimeout }, trace = untraced }: ImporterOptions) => {
  const slots = createSlots(count, 'imports');
  const inProgress = new Set<AbortController>();
  let rows = NO_COUNTS;
  let stopped: StoreError | undefined;

  /** @throws {StoreError} 1500 too many imports are in progress, 1504; errors of `read` and `importPlants` */
  const run = async ({ token, query, read, ending, log }: Import): Promise<ImportSummary> => {
    if (stopped) throw stopped;
    const release = slots.take(token);
    inProgress.add(ending);
    try {
      return await trace('import', async (note) => {
        const startedAt = performance.now();
        /** `outcome`: refused if too many rows failed, unknown if the connection was lost during the commit. */
        const finish = (end: Record<string, number | string>) => {
          note(end);
          log.info({ token, ...query, ...end, duration: Math.round(performance.now() - startedAt) }, 'import ended');
        };
        try {
          const summary = await importPlants(read, query, { sessions, ending, rowTimeout });
          const { stoppedAt, isAccepted } = summary;
          const counts = addCounts(NO_COUNTS, summary);
          if (!query.dryRun) rows = addCounts(rows, counts);
          finish({ ...counts, outcome: isAccepted ? 'completed' : 'refused', ...(stoppedAt && { stoppedAt }) });
          return summary;
        } catch (error) {
          const isUnknown = error instanceof ImportInterruptedError && error.isUnknown;
          finish({ ...NO_COUNTS, outcome: isUnknown ? 'unknown' : 'interrupted' });
          throw error;
        }
      });
    } finally {
      inProgress.delete(ending);
      release();
    }
  };

  return {
    run,
    inProgress: slots.taken,
    rows: (): ImportCounts => rows,
    /** Ends the imports in progress, except those that are being committed, and refuses others. */
    stop: (): void => {
      stopped = new StoreError('stopping', 'The service is stopping.');
      for (const ending of inProgress) ending.abort(stopped);
    },
  };
};
