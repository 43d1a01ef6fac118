import { pipeline } from 'node:stream/promises';
import type { NextFunction, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import type { PlantPage } from '../plants/plant-pages.ts';
import { plantQuerySchema } from '../plants/plant-parameters.ts';
import type { PlantExports } from './export-plants.ts';
import { contentTypes, type ExportFormat, exportFormats, writeRows } from './write-rows.ts';

/** The query of `GET /plants/export`. */
export const exportQuerySchema = z.strictObject({
  format: z
    .enum(exportFormats, { error: `should be ${exportFormats.join(' or ')}` })
    .default('ndjson')
    .describe('The format of the response: one JSON object per line, or CSV'),
  ...plantQuerySchema.pick({ tag: true, q: true }).shape,
});

/** HTTP/1.0 has no chunks, so an export that is cut off would look complete. */
const NEEDS_CHUNKS = 'An export needs HTTP/1.1.';

type ExportRoutesOptions = {
  plantExports: Pick<PlantExports, 'read'>;
  requireReadScope: RequestHandler;
  /** How long the client may read nothing, in ms. */
  stallTimeout: number;
};

/** Adds `GET /plants/export`. To be added before `/plants/:id`, which also matches the path. */
export const addExportRoutes = (router: Router, options: ExportRoutesOptions): void => {
  const { plantExports, requireReadScope, stallTimeout } = options;
  router
    .route('/plants/export')
    .get(requireReadScope, async (request, response, next) => {
      if (request.httpVersion === '1.0') throw new ApiError(commonErrors.requestNotHttp, NEEDS_CHUNKS);
      const { format, tag, q } = parseParameters(exportQuerySchema, request.query);
      await plantExports.read({ tag, nameContains: q }, async (pages) => {
        response.setHeader('Content-Type', contentTypes[format]);
        response.setHeader('Content-Disposition', `attachment; filename="plants.${format}"`);
        if (request.method === 'HEAD') return void response.end();
        response.locals.allowedPause = stallTimeout;
        await sendRows({ response, next }, format, pages);
      });
    })
    .all(handleOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
};

/**
 * Sends rows as fast as the client reads them. If the export fails, closes the connection without the last chunk
 * (RFC 9112 §7.1), so that the client detects the incomplete response.
 */
const sendRows = async (
  { response, next }: { response: Response; next: NextFunction },
  format: ExportFormat,
  pages: AsyncIterable<PlantPage>,
) => {
  let sent = 0;
  const onRows = (count: number) => {
    sent += count;
    response.locals.rows = sent;
  };
  try {
    await pipeline(writeRows(format, pages, onRows), response);
  } catch (error) {
    // A premature close means that the client disconnected or was disconnected; the request log already says so. Other
    // errors are not thrown: the response would be logged, without its error, while the transaction ends.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') next(error);
  }
};
