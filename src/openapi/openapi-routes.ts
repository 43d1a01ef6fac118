import { Router } from 'express';
import { answerOtherMethods } from '../http/answer-other-methods.ts';
import { createFixedContent } from '../http/fixed-content.ts';
import { createOpenApiDocument } from './openapi-document.ts';

/** `GET /openapi.json`: the description of the interface. No token. */
export const createOpenApiRoutes = ({ basePath }: { basePath: string }) => {
  const body = JSON.stringify(createOpenApiDocument({ basePath }));
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route('/openapi.json')
    .get(createFixedContent({ type: 'application/json; charset=utf-8', body }))
    .all(answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  return router;
};
