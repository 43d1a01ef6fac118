import { Router } from 'express';
import { answerOtherMethods } from '../http/answer-other-methods.ts';
import { createFixedContent } from '../http/fixed-content.ts';
import { readApiPageFiles } from './api-page-files.ts';
import { CONTENT_SECURITY_POLICY } from './content-security-policy.ts';

/** `GET /docs`: the page on which a person reads the description and tries the operations. */
export const createApiPageRoutes = () => {
  const { page, parts } = readApiPageFiles();
  const getOnly = answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' });
  const headers = { 'Content-Security-Policy': CONTENT_SECURITY_POLICY };
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route('/docs')
    .get(createFixedContent({ ...page, headers }))
    .all(getOnly);
  for (const part of parts) {
    router.route(`/docs/${part.name}`).get(createFixedContent(part)).all(getOnly);
  }
  return router;
};
