import type { Request, RequestHandler, Response } from 'express';
import type { BulkTrace } from '../batching/bulk.ts';
import type { BodySlots } from '../bodies/body-slots.ts';
import { createPool } from '../database/database.ts';
import { createPoolStatements } from '../database/statements.ts';
import type { OutputBudget } from '../http/send-json.ts';
import type { ImportCounts } from './import.ts';
import { createImportBodyReader } from './import-body.ts';
import { createImportPace } from './import-pace.ts';
import { createImportRepository, LANES } from './import-repository.ts';
import { addImportRoutes } from './import-routes.ts';
import { createPlantImporter } from './plant-importer.ts';

type ImportsOptions = {
  database: { url: string; connectTimeout: number; onConnectionLost: (error: Error) => void };
  /** `count`: of those in progress; the others: see `RequestLimits`. */
  limits: { count: number; statementTimeout: number; lockTimeout: number; rowTimeout: number; grace: number };
  /** How long a client may pause between bytes, in ms. */
  pauseTimeout: number;
  /** The time of the last request of another kind, in ms of the monotonic clock. */
  lastRequestAt: () => number;
  requireWriteScope: RequestHandler;
  watchToken: (request: Request, response: Response) => AbortSignal;
  bodies: { limit: number; slots: BodySlots };
  outputBudget: OutputBudget;
  countRows?: ((added: ImportCounts) => void) | undefined;
  trace?: BulkTrace | undefined;
};

/** The imports of a process. They have their own connections, so that no request waits for one. */
export const createImports = (options: ImportsOptions) => {
  const { database, limits, lastRequestAt, requireWriteScope, watchToken, bodies, outputBudget } = options;
  const { url, connectTimeout, onConnectionLost } = database;
  const { statementTimeout, lockTimeout, count } = limits;
  const pool = createPool({ url, connectTimeout, statementTimeout, lockTimeout, connections: count * LANES });
  const statements = createPoolStatements({ pool, onConnectionLost });
  const importer = createPlantImporter({
    repository: createImportRepository({ statements }),
    pace: createImportPace({ lastRequestAt }),
    maxImports: count,
    grace: limits.grace,
    countRows: options.countRows,
    trace: options.trace,
  });
  const { rowTimeout } = limits;
  const readRows = createImportBodyReader({ bodies, pauseTimeout: options.pauseTimeout, rowTimeout });
  return {
    addRoutes: addImportRoutes({ importer, requireWriteScope, watchToken, readRows, outputBudget }),
    inProgress: importer.inProgress,
    connectionsInUse: statements.connectionsInUse,
    /** Those in progress finish their chunks and respond with what is stored. */
    stop: importer.stop,
    /** Closes the connections, also those in use. */
    close: statements.close,
  };
};
