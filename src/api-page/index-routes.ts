import { Router } from 'express';
import { answerOtherMethods } from '../http/answer-other-methods.ts';
import { sendJson } from '../http/send-json.ts';

/** The paths that the store has for a start, by what they are. `basePath`: without a slash at its end. */
export const indexLinks = (basePath: string) => ({
  docs: `${basePath}/docs`,
  openapi: `${basePath}/openapi.json`,
  plants: `${basePath}/plants`,
  livez: '/livez',
  readyz: '/readyz',
});

/** Paths with a slash too many or too few, and where they lead. */
const redirects = (basePath: string): [string, string][] => [
  ...(basePath ? [[basePath, `${basePath}/`] as [string, string]] : []),
  [`${basePath}/docs/`, `${basePath}/docs`],
  [`${basePath}/docs/errors/`, `${basePath}/docs/errors`],
];

/**
 * `GET /` and `GET {basePath}/`: leads browsers to the API page, and tells all other clients which paths there are.
 * `GET /docs/` redirects to `/docs`. No token.
 */
export const createIndexRoutes = ({ basePath }: { basePath: string }) => {
  const links = indexLinks(basePath);
  const getOnly = answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' });
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route([...new Set(['/', `${basePath}/`])])
    .get((request, response) => {
      response.vary('Accept');
      // A program that takes anything is sent JSON.
      if (request.accepts('json', 'html') !== 'html') return sendJson(response, links);
      response.status(302).location(links.docs).end();
    })
    .all(getOnly);
  for (const [path, location] of redirects(basePath)) {
    router
      .route(path)
      .get((_request, response) => response.status(308).location(location).end())
      .all(getOnly);
  }
  return router;
};
