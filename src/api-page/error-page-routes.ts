import { Router } from 'express';
import { answerOtherMethods } from '../http/answer-other-methods.ts';
import { createFixedContent } from '../http/fixed-content.ts';
import { CONTENT_SECURITY_POLICY } from './content-security-policy.ts';
import { renderErrorPages } from './error-pages.ts';

/** `GET /docs/errors` and `GET /docs/errors/{code}`: what each error means and what to do. No token. */
export const createErrorPageRoutes = ({ basePath }: { basePath: string }) => {
  const router = Router({ strict: true, caseSensitive: true });
  for (const { path, body } of renderErrorPages({ basePath })) {
    const headers = { 'Content-Security-Policy': CONTENT_SECURITY_POLICY };
    router
      .route(path)
      .get(createFixedContent({ type: 'text/html; charset=utf-8', body, headers }))
      .all(answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  }
  return router;
};
