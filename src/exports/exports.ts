import { once } from 'node:events';
import type { Request, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import { type BulkTrace, createSlots, untraced } from '../batching/bulk.ts';
import { StoreError } from '../errors.ts';
import { addGet } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { plantQuerySchema } from '../plants/plant.ts';
import { openExport } from './export-plants.ts';
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
  /** `count`: of those in progress, of which a token has at most half; the others: see `RequestLimits`. */
  limits: { count: number; clientCheckInterval: number; stallTimeout: number; timeout: number };
  requireScope: (scope: 'plants:read') => RequestHandler;
  /** @returns a controller that is aborted with the error that cuts the export off */
  watchRequest: (request: Request, response: Response) => AbortController;
  trace?: BulkTrace | undefined;
};

/** The exports of a process: `GET /plants/export`. Each has its own connection. */
export const createExports = ({ database, limits, requireScope, watchRequest, trace = untraced }: ExportsOptions) => {
  const { count, clientCheckInterval, stallTimeout, timeout } = limits;
  const slots = createSlots(count, 'exports');
  let rows = 0;

  const exportPlants: RequestHandler = async (request, response) => {
    if (request.httpVersion === '1.0') throw new StoreError('requestNotHttp', NEEDS_CHUNKS);
    const { format, ...filter } = parseParameters(exportQuerySchema, request.query);
    const ending = watchRequest(request, response);
    const { signal } = ending;
    using _timer = setTimeout(() => ending.abort(new StoreError('overloaded', TOO_LONG)), timeout);
    const progress = { rows: 0 };
    const onRows = (read: number) => {
      rows += read;
      progress.rows += read;
    };
    const send = async () => {
      const pieces = await openExport({ ...database, clientCheckInterval }, { format, filter, onRows, signal });
      response.setHeader('Content-Type', rowWriters[format].type);
      response.setHeader('Content-Disposition', `attachment; filename="plants.${format}"`);
      if (request.method === 'HEAD') return void pieces.destroy();
      response.locals.progress = progress;
      response.setTimeout(stallTimeout);
      // Unlike `pipeline`, leaves the response to the error handler, which logs the error and closes the connection
      // without the last chunk (RFC 9112 §7.1), so that the client detects the incomplete response.
      for await (const piece of pieces) if (!response.write(piece)) await once(response, 'drain', { signal });
    };
    const { tokenName = '' } = response.locals;
    const release = slots.take(tokenName);
    await trace('export', (note) => send().finally(() => note(progress))).finally(release);
    response.end();
  };

  return {
    /** Call it before `/plants/:id` is added, which also matches the path. */
    addRoutes: (router: Router): void => addGet(router, '/plants/export', requireScope('plants:read'), exportPlants),
    inProgress: slots.taken,
    /** Plants read by all exports since the process started. */
    rows: (): number => rows,
  };
};
