import { basename } from 'node:path';
import { type RequestHandler, Router } from 'express';
import { addGet } from '../http/handle-error.ts';
import { sendJson } from '../http/send-json.ts';

/** The main paths of the service, by name. `basePath` has no trailing slash. */
export const indexLinks = (basePath: string) => ({
  docs: `${basePath}/docs`,
  openapi: `${basePath}/openapi.json`,
  plants: `${basePath}/plants`,
  livez: '/livez',
  readyz: '/readyz',
});

/**
 * `GET /` and `GET {basePath}/` redirect browsers to the API page; other clients get a list of paths. `GET {basePath}`
 * redirects to `{basePath}/`. No token is required. Redirects are relative, since a proxy may strip a prefix of the path.
 */
export const createIndexRoutes = ({ basePath }: { basePath: string }) => {
  const links = indexLinks(basePath);
  const router = Router({ strict: true, caseSensitive: true });
  // Not one route with several paths, which metrics and traces would name by all of them.
  for (const [path, docs] of new Map([
    ['/', `.${links.docs}`],
    [`${basePath}/`, './docs'],
  ])) {
    addGet(router, path, (request, response) => {
      response.vary('Accept');
      // A client that accepts anything gets JSON.
      if (request.accepts('json', 'html') !== 'html') return sendJson(response, links);
      response.status(302).location(docs).end();
    });
  }
  if (basePath) addGet(router, basePath, redirectTo(`./${basename(basePath)}/`));
  return router;
};

export const redirectTo =
  (location: string): RequestHandler =>
  (_request, response) =>
    void response.status(308).location(location).end();
