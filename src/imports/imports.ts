import type { Request, RequestHandler, Response } from 'express';
import type { BulkTrace } from '../batching/bulk.ts';
import type { BodyLimits } from '../bodies/read-json-body.ts';
import type { OutputBudget } from '../http/send-json.ts';
import type { ImportCounts } from './import.ts';
import { createImportBodyReader } from './import-body.ts';
import { addImportRoutes } from './import-routes.ts';
import { createImportSessions, type ImportDatabase } from './import-session.ts';
import { createImporter } from './importer.ts';

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

/** The imports of a process. */
export const createImports = (options: ImportsOptions) => {
  const { database, limits, requireWriteScope, watchToken, bodies, maxBytes, outputBudget, countRows, trace } = options;
  const sessions = createImportSessions({ ...database, ...limits });
  const importer = createImporter({ sessions, limits, countRows, trace });
  const readRows = createImportBodyReader({ bodies, maxBytes, rowTimeout: limits.rowTimeout });
  const { assertSessions } = sessions;
  return {
    addRoutes: addImportRoutes({ importer, assertSessions, requireWriteScope, watchToken, readRows, outputBudget }),
    inProgress: importer.inProgress,
    connectionsInUse: sessions.inUse,
    stop: importer.stop,
    /** Closes the connections, also those in use. */
    close: sessions.close,
  };
};
