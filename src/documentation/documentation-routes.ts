import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { type RequestHandler, Router } from 'express';
import { addGet } from '../http/handle-error.ts';
import { createFixedContent } from '../http/preconditions.ts';
import { sendJson } from '../http/send-json.ts';
import { renderErrorPage } from './error-page.ts';

const ownFiles = join(import.meta.dirname, 'public');
const swaggerUiFiles = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** The files of the pages. No other files in these folders are served. */
const FILES = [
  ...['api-page.css', 'api-page.js', 'logo.svg', 'pages.css'].map((name) => join(ownFiles, name)),
  ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) => join(swaggerUiFiles, name)),
];

/** A page loads from this service only, runs and applies only its own files, and cannot be framed. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

type DocumentationRoutesOptions = { basePath: string; document: object };

/** Adds `GET /openapi.json`, the API page (`/docs`) and the page about errors (`/docs/errors`). No token is required. */
export const addDocumentationRoutes = (router: Router, options: DocumentationRoutesOptions): void => {
  const { basePath, document } = options;
  const serve = (path: string, type: string, body: string | Buffer) => {
    const headers = type === '.html' ? { 'Content-Security-Policy': CONTENT_SECURITY_POLICY } : {};
    addGet(router, path, createFixedContent({ type, body, headers }));
  };
  serve('/openapi.json', '.json', JSON.stringify(document));
  serve('/docs', '.html', readFileSync(join(ownFiles, 'index.html')));
  serve('/docs/errors', '.html', renderErrorPage(basePath));
  for (const file of FILES) serve(`/docs/${basename(file)}`, extname(file), readFileSync(file));
  for (const path of ['/docs', '/docs/errors']) addGet(router, `${path}/`, redirectTo(`../${basename(path)}`));
};

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

const redirectTo =
  (location: string): RequestHandler =>
  (_request, response) =>
    void response.status(308).location(location).end();
