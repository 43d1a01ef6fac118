import { once } from 'node:events';
import type { Request, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import { StoreError } from '../errors.ts';
import { handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { plantQuerySchema } from '../plants/plant.ts';
import type { PlantExports } from './export-plants.ts';
import { exportFormats, rowWriters } from './write-rows.ts';

/** The query of `GET /plants/export`. */
export const exportQuerySchema = z.strictObject({
  format: z
    .enum(exportFormats, { error: `must be ${exportFormats.join(' or ')}` })
    .default('ndjson')
    .describe('The format of the response: one JSON object per line, or CSV'),
  ...plantQuerySchema.pick({ tag: true, q: true }).shape,
});

/** HTTP/1.0 has no chunks, so an export that is cut off would look complete. */
const NEEDS_CHUNKS = 'An export needs HTTP/1.1. A proxy sent HTTP/1.0? nginx does without `proxy_http_version 1.1;`.';

type ExportRoutesOptions = {
  plantExports: Pick<PlantExports, 'open'>;
  requireReadScope: RequestHandler;
  /** @returns a signal that is aborted with the error that cuts the export off */
  watchToken: (request: Request, response: Response) => AbortSignal;
  /** How long the client may stop reading, in ms. */
  stallTimeout: number;
};

/** Adds `GET /plants/export`. Must be added before `/plants/:id`, which also matches the path. */
export const addExportRoutes =
  ({ plantExports, requireReadScope, watchToken, stallTimeout }: ExportRoutesOptions) =>
  (router: Router): void =>
    void router
      .route('/plants/export')
      .get(requireReadScope, async (request, response) => {
        if (request.httpVersion === '1.0') throw new StoreError('requestNotHttp', NEEDS_CHUNKS);
        const { format, tag, q: nameContains } = parseParameters(exportQuerySchema, request.query);
        const { tokenName: holder = '' } = response.locals;
        const progress = { rows: 0 };
        const signal = AbortSignal.any([request.signal, watchToken(request, response)]);
        const rows = await plantExports.open({ holder, format, tag, nameContains, progress, signal });
        response.setHeader('Content-Type', rowWriters[format].type);
        response.setHeader('Content-Disposition', `attachment; filename="plants.${format}"`);
        if (request.method === 'HEAD') rows.destroy();
        else {
          response.locals.progress = progress;
          response.setTimeout(stallTimeout);
          // Also while the client reads nothing.
          const failed = new AbortController();
          rows.once('error', (error) => failed.abort(error));
          const ended = AbortSignal.any([signal, failed.signal]);
          // Unlike `pipeline`, leaves the response to the error handler, which logs the error and closes the connection
          // without the last chunk (RFC 9112 §7.1), so that the client detects the incomplete response.
          for await (const piece of rows) if (!response.write(piece)) await once(response, 'drain', { signal: ended });
        }
        response.end();
      })
      .all(handleOtherMethods());
