import { once } from 'node:events';
import type { Request, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import type { BulkTrace } from '../batching/bulk.ts';
import { StoreError } from '../errors.ts';
import { addGet } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { plantQuerySchema } from '../plants/plant.ts';
import { createPlantExports } from './export-plants.ts';
import { exportFormats, rowWriters } from './write-rows.ts';

export const exportQuerySchema = z.strictObject({
  format: z
    .enum(exportFormats, { error: `must be ${exportFormats.join(' or ')}` })
    .default('ndjson')
    .describe('The format of the response: one JSON object per line, or CSV'),
  ...plantQuerySchema.pick({ tag: true, q: true }).shape,
});

/** HTTP/1.0 has no chunks, so an export that is cut off would look complete. */
const NEEDS_CHUNKS = 'An export needs HTTP/1.1. A proxy sent HTTP/1.0? nginx does without `proxy_http_version 1.1;`.';

const TOO_LONG = 'The export took longer than EXPORT_TIMEOUT allows. Read it faster, or export fewer plants.';

type ExportsOptions = {
  database: { url: string; connectTimeout: number };
  /** `count`: of those in progress; the others: see `RequestLimits`. */
  limits: { count: number; clientCheckInterval: number; stallTimeout: number; timeout: number };
  requireScope: (scope: 'plants:read') => RequestHandler;
  /** @returns a controller that is aborted with the error that cuts the export off */
  watchRequest: (request: Request, response: Response) => AbortController;
  trace?: BulkTrace | undefined;
};

/** The exports of a process: `GET /plants/export`. Each has its own connection. */
export const createExports = ({ database, limits, requireScope, watchRequest, trace }: ExportsOptions) => {
  const { count: limit, clientCheckInterval, stallTimeout, timeout } = limits;
  const checked = { ...database, clientCheckInterval };
  const { open, inProgress, rows } = createPlantExports({ database: checked, limit, trace });

  const exportPlants: RequestHandler = async (request, response) => {
    if (request.httpVersion === '1.0') throw new StoreError('requestNotHttp', NEEDS_CHUNKS);
    const { format, ...filter } = parseParameters(exportQuerySchema, request.query);
    const { tokenName: holder } = response.locals;
    const progress = { rows: 0 };
    const ending = watchRequest(request, response);
    const { signal } = ending;
    using _timer = setTimeout(() => ending.abort(new StoreError('overloaded', TOO_LONG)), timeout);
    const pieces = await open({ holder, format, filter, progress, signal });
    response.setHeader('Content-Type', rowWriters[format].type);
    response.setHeader('Content-Disposition', `attachment; filename="plants.${format}"`);
    if (request.method === 'HEAD') pieces.destroy();
    else {
      response.locals.progress = progress;
      response.setTimeout(stallTimeout);
      // Also while the client reads nothing.
      pieces.once('error', (error) => ending.abort(error));
      // Unlike `pipeline`, leaves the response to the error handler, which logs the error and closes the connection
      // without the last chunk (RFC 9112 §7.1), so that the client detects the incomplete response.
      for await (const piece of pieces) if (!response.write(piece)) await once(response, 'drain', { signal });
    }
    response.end();
  };

  return {
    /** Call it before `/plants/:id` is added, which also matches the path. */
    addRoutes: (router: Router): void => addGet(router, '/plants/export', requireScope('plants:read'), exportPlants),
    inProgress,
    /** Plants read by all exports since the process started. */
    rows,
  };
};
