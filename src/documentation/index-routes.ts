import { Router } from 'express';
import { handleOtherMethods } from '../http/handle-error.ts';
import { sendJson } from '../http/send-json.ts';

/** The main paths of the service, by name. `basePath` has no trailing slash. */
export const indexLinks = (basePath: string) => ({
  docs: `${basePath}/docs`,
  openapi: `${basePath}/openapi.json`,
  plants: `${basePath}/plants`,
  livez: '/livez',
  readyz: '/readyz',
});

/** Redirects from paths with a superfluous or missing slash. */
const redirects = (basePath: string): [string, string][] => [
  ...(basePath ? [[basePath, `${basePath}/`] as [string, string]] : []),
  [`${basePath}/docs/`, `${basePath}/docs`],
  [`${basePath}/docs/errors/`, `${basePath}/docs/errors`],
];

/**
 * `GET /` and `GET {basePath}/` redirect browsers to the API page; other clients get a list of paths. `GET /docs/`
 * redirects to `/docs`. No token is required.
 */
export const createIndexRoutes = ({ basePath }: { basePath: string }) => {
  const links = indexLinks(basePath);
  const getOnly = handleOtherMethods({ Allow: 'GET, HEAD, OPTIONS' });
  const router = Router({ strict: true, caseSensitive: true });
  // Not one route with several paths, which metrics and traces would name by all of them.
  for (const path of new Set(['/', `${basePath}/`])) {
    router
      .route(path)
      .get((request, response) => {
        response.vary('Accept');
        // A client that accepts anything gets JSON.
        if (request.accepts('json', 'html') !== 'html') return sendJson(response, links);
        response.status(302).location(links.docs).end();
      })
      .all(getOnly);
  }
  for (const [path, location] of redirects(basePath)) {
    router
      .route(path)
      .get((_request, response) => response.status(308).location(location).end())
      .all(getOnly);
  }
  return router;
};
