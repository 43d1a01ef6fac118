import type { Request, RequestHandler, Response, Router } from 'express';
import { stringifyExact } from '../bodies/exact-json.ts';
import { clientDisconnected } from '../bodies/gather-body.ts';
import { closeIfUnread, handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { type OutputBudget, sendJsonText } from '../http/send-json.ts';
import { importQuerySchema } from './import.ts';
import type { ImportBodyReader } from './import-body.ts';
import type { Importer } from './importer.ts';

type ImportRoutesOptions = {
  importer: Importer;
  /** @throws {StoreError} 1501 if imports are impossible */
  assertSessions: () => void;
  requireWriteScope: RequestHandler;
  /** @returns a signal that is aborted with the error that ends the import */
  watchToken: (request: Request, response: Response) => AbortSignal;
  readRows: ImportBodyReader;
  outputBudget: OutputBudget;
};

/** Adds `POST /plants/import`. Must be added before `/plants/:id`, which also matches the path. */
export const addImportRoutes =
  ({ importer, assertSessions, requireWriteScope, watchToken, readRows, outputBudget }: ImportRoutesOptions) =>
  (router: Router): void =>
    void router
      .route('/plants/import')
      .post(requireWriteScope, async (request, response) => {
        const query = parseParameters(importQuerySchema, request.query);
        assertSessions();
        const startedAt = performance.now();
        const { tokenName: token = '' } = response.locals;
        const ending = new AbortController();
        const end = (error: unknown) => ending.abort(error);
        const watched = watchToken(request, response);
        watched.addEventListener('abort', () => end(watched.reason));
        response.once('close', () => end(clientDisconnected()));
        if (response.destroyed) end(clientDisconnected());
        let noRows: string | undefined;
        const onNoRows = (message: string) => {
          noRows = message;
        };
        const read = readRows(request, response, { delimiter: query.delimiter, onNoRows });
        const { isAccepted, ...summary } = await importer.run({ token, query, read, ending }, (outcome) => {
          const duration = Math.round(performance.now() - startedAt);
          request.log.info({ token, ...query, ...outcome, duration }, 'import ended');
        });
        // The import stopped early because too many rows failed.
        closeIfUnread(request, response);
        response.status(isAccepted ? 200 : 400);
        sendJsonText(response, stringifyExact({ ...summary, message: summary.message ?? noRows }), outputBudget);
      })
      .all(handleOtherMethods());
