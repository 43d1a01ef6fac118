import type { Request, RequestHandler, Response, Router } from 'express';
import type { BulkTrace } from '../batching/bulk.ts';
import { stringifyExact } from '../bodies/exact-json.ts';
import type { BodyLimits } from '../bodies/read-json-body.ts';
import { errors, StoreError } from '../errors.ts';
import { closeIfUnread, handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { sendJsonText } from '../http/send-json.ts';
import { importQuerySchema, LINE_ENDS_LOST, NO_ROWS } from './import.ts';
import { readImportBody } from './import-body.ts';
import { createImportSessions, type ImportDatabase } from './import-session.ts';
import { createImporter } from './importer.ts';

type ImportsOptions = {
  database: ImportDatabase;
  /** `count`: of those in progress; the others: see `RequestLimits`. */
  limits: { count: number; maxBytes: number | undefined; lockTimeout: number; rowTimeout: number; grace: number };
  requireScope: (scope: 'plants:write') => RequestHandler;
  /** @returns a controller that is aborted with the error that ends the import */
  watchRequest: (request: Request, response: Response) => AbortController;
  bodies: BodyLimits;
  trace?: BulkTrace | undefined;
};

/** The imports of a process: `POST /plants/import`. */
export const createImports = (options: ImportsOptions) => {
  const { database, limits, requireScope, watchRequest, bodies, trace } = options;
  const sessions = createImportSessions({ ...database, ...limits });
  const importer = createImporter({ sessions, limits, trace });

  const importPlants: RequestHandler = async (request, response) => {
    const query = parseParameters(importQuerySchema, request.query);
    sessions.assertSessions();
    const { tokenName: token = '' } = response.locals;
    const ending = watchRequest(request, response);
    const sizes = { maxLineBytes: bodies.limit, maxBytes: limits.maxBytes };
    const read = readImportBody(request, response, { delimiter: query.delimiter, ...sizes });
    const { isAccepted, ...summary } = await importer.run({ token, query, read, ending, log: request.log });
    if (summary.message === NO_ROWS) summary.message = `${NO_ROWS} ${LINE_ENDS_LOST}`;
    // The import stopped early because too many rows failed.
    closeIfUnread(request, response);
    response.status(isAccepted ? 200 : 400);
    // As the error handler does, for the log, the metrics and the traces.
    const error = Object.values(errors).find(({ code }) => code === summary.error);
    if (error) response.locals.error = new StoreError(error.kind, summary.message);
    sendJsonText(response, stringifyExact(summary), bodies.hold);
  };

  return {
    /** Call it before `/plants/:id` is added, which also matches the path. */
    addRoutes: (router: Router): void =>
      void router.route('/plants/import').post(requireScope('plants:write'), importPlants).all(handleOtherMethods()),
    inProgress: importer.inProgress,
    /** The rows of all imports since the process started, except dry runs. */
    rows: importer.rows,
    connectionsInUse: sessions.inUse,
    stop: importer.stop,
    /** Closes the connections, also those in use. */
    close: sessions.close,
  };
};
