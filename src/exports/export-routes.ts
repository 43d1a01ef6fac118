import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
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
const NEEDS_CHUNKS = 'An export needs HTTP/1.1.';

const DISCONNECTED = ['ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'];

type ExportRoutesOptions = {
  plantExports: Pick<PlantExports, 'read'>;
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
      .get(requireReadScope, async (request, response, next) => {
        if (request.httpVersion === '1.0') throw new StoreError('requestNotHttp', NEEDS_CHUNKS);
        const { format, tag, q } = parseParameters(exportQuerySchema, request.query);
        const progress = { rows: 0 };
        const tokenEnd = watchToken(request, response);
        const fail = (error: NodeJS.ErrnoException) => {
          if (tokenEnd.aborted) next(tokenEnd.reason);
          // The request log already says that the client disconnected or was disconnected.
          else if (!DISCONNECTED.includes(error.code ?? '')) next(error);
        };
        const send = async (bytes: Readable) => {
          response.setHeader('Content-Type', rowWriters[format].type);
          response.setHeader('Content-Disposition', `attachment; filename="plants.${format}"`);
          if (request.method === 'HEAD') return void response.end();
          response.locals.progress = progress;
          response.locals.allowedPause = stallTimeout;
          // Not thrown: the response would be logged, without the error, before Express gets it.
          bytes.once('error', fail);
          // If it fails, closes the connection without the last chunk (RFC 9112 §7.1), so that the client detects the
          // incomplete response.
          await pipeline(bytes, response).catch(() => {});
        };
        const signal = AbortSignal.any([request.signal, tokenEnd]);
        const { tokenName: holder = '' } = response.locals;
        await plantExports.read({ holder, format, tag, nameContains: q, progress, signal }, send).catch(fail);
      })
      .all(handleOtherMethods());
