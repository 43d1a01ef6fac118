import type { Request, RequestHandler, Response } from 'express';
import { type BulkTrace, createSlots, untraced } from '../batching/bulk.ts';
import type { BodyLimits } from '../bodies/read-json-body.ts';
import { StoreError } from '../errors.ts';
import type { OutputBudget } from '../http/send-json.ts';
import { type ImportCounts, type ImportOptions, type ImportSummary, NO_COUNTS, type ReadRows } from './import.ts';
import { createImportBodyReader } from './import-body.ts';
import { ImportInterruptedError } from './import-errors.ts';
import { importPlants } from './import-plants.ts';
import { addImportRoutes } from './import-routes.ts';
import { createImportSessions, type ImportDatabase } from './import-session.ts';

type ImportsOptions = {
  database: ImportDatabase;
  /** `count`: of those in progress; the others: see `RequestLimits`. */
  limits: { count: number; lockTimeout: number; rowTimeout: number; grace: number };
  /** The maximum size of an import, in bytes. */
  maxBytes: number | undefined;
  requireWriteScope: RequestHandler;
  watchToken: (request: Request, response: Response) => AbortSignal;
  bodies: BodyLimits;
  outputBudget: OutputBudget;
  countRows?: ((added: ImportCounts) => void) | undefined;
  trace?: BulkTrace | undefined;
};

/** How an import ended. `refused`: too many rows failed. `unknown`: the connection was lost during the commit. */
export type ImportEnd = ImportCounts & {
  outcome: 'completed' | 'refused' | 'interrupted' | 'unknown';
  /** Only present if too many rows failed. */
  stoppedAt?: number;
};

type Import = {
  /** The name of the token, which has at most half of the slots. */
  token: string;
  query: ImportOptions;
  read: ReadRows;
  /** Ends the import. Its reason becomes the cause of the error. */
  ending: AbortController;
};

/** The imports of a process. */
export const createImports = (options: ImportsOptions) => {
  const {
    database,
    limits,
    countRows,
    trace = untraced,
    requireWriteScope,
    watchToken,
    bodies,
    outputBudget,
  } = options;
  const { count, lockTimeout, rowTimeout, grace } = limits;
  const sessions = createImportSessions({ ...database, count, lockTimeout, grace });
  const slots = createSlots(count, 'imports');
  const inProgress = new Set<AbortController>();

  /**
   * Calls `onEnd` once, even if the client has disconnected.
   * @throws {StoreError} 1500 too many imports are in progress; errors of `read` and `importPlants`
   */
  const run = async (
    { token, query, read, ending }: Import,
    onEnd: (end: ImportEnd) => void,
  ): Promise<ImportSummary> => {
    const release = slots.take(token);
    inProgress.add(ending);
    try {
      return await trace('import', async (note) => {
        const finish = (end: ImportEnd) => {
          note(end);
          onEnd(end);
        };
        try {
          const summary = await importPlants(read, query, { sessions, lockTimeout, ending });
          const { created, replaced, skipped, failed, stoppedAt, isAccepted } = summary;
          const counts = { created, replaced, skipped, failed };
          if (!query.dryRun) countRows?.(counts);
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

  const readRows = createImportBodyReader({ bodies, maxBytes: options.maxBytes, rowTimeout });
  const { assertSessions } = sessions;
  return {
    addRoutes: addImportRoutes({ run, assertSessions, requireWriteScope, watchToken, readRows, outputBudget }),
    inProgress: slots.taken,
    connectionsInUse: sessions.inUse,
    /** Ends the imports in progress, except those that are being committed. */
    stop: (): void => {
      for (const ending of inProgress) ending.abort(new StoreError('stopping', 'The service is stopping.'));
    },
    /** Closes the connections, also those in use. */
    close: sessions.close,
  };
};

export type RunImport = (parameters: Import, onEnd: (end: ImportEnd) => void) => Promise<ImportSummary>;
