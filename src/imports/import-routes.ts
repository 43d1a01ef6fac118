import type { Request, RequestHandler, Response, Router } from 'express';
import { stringifyExact } from '../bodies/exact-json.ts';
import { clientDisconnected } from '../bodies/gather-body.ts';
import { closeIfUnread, handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { type OutputBudget, sendJsonText } from '../http/send-json.ts';
import { describeRefusal, importQuerySchema } from './import.ts';
import type { ImportBodyReader } from './import-body.ts';
import type { PlantImporter } from './plant-importer.ts';

type ImportRoutesOptions = {
  importer: PlantImporter;
  requireWriteScope: RequestHandler;
  /** @returns a signal that is aborted with the error that ends the import */
  watchToken: (request: Request, response: Response) => AbortSignal;
  readRows: ImportBodyReader;
  outputBudget: OutputBudget;
};

/** Adds `POST /plants/import`. Must be added before `/plants/:id`, which also matches the path. */
export const addImportRoutes =
  ({ importer, requireWriteScope, watchToken, readRows, outputBudget }: ImportRoutesOptions) =>
  (router: Router): void =>
    void router
      .route('/plants/import')
      .post(requireWriteScope, async (request, response) => {
        const query = parseParameters(importQuerySchema, request.query);
        const startedAt = performance.now();
        const { tokenName: token = '' } = response.locals;
        const ending = new AbortController();
        const signal = AbortSignal.any([ending.signal, watchToken(request, response)]);
        const { delimiter } = query;
        let noRows: string | undefined;
        const onNoRows = (message: string) => {
          noRows = message;
        };
        const read = readRows(request, response, { delimiter, end: (error) => ending.abort(error), onNoRows });
        const onClose = () => ending.abort(clientDisconnected());
        response.once('close', onClose);
        if (response.destroyed) onClose();
        const summary = await importer.run({ token, query, read, signal }, (end) => {
          const duration = Math.round(performance.now() - startedAt);
          request.log.info({ token, ...query, ...end, duration }, 'import ended');
        });
        // The import stopped early because too many rows failed.
        closeIfUnread(request, response);
        const { isAccepted, ...body } = summary;
        response.status(isAccepted ? 200 : 400);
        const message = isAccepted ? noRows : describeRefusal(summary, query);
        sendJsonText(response, stringifyExact({ ...body, message }), outputBudget);
      })
      .all(handleOtherMethods());
