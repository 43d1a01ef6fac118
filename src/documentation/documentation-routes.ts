import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import type { Router } from 'express';
import { errors } from '../errors.ts';
import { addGet } from '../http/handle-error.ts';
import { createFixedContent } from '../http/preconditions.ts';
import { renderErrorPage } from './error-page.ts';
import { redirectTo } from './index-routes.ts';

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
  addGet(router, '/docs/errors/:code', (request, response, next) => {
    const error = Object.values(errors).find(({ code }) => `${code}` === request.params.code);
    if (error) redirectTo(`../errors#${error.code}`)(request, response, next);
    else next('route');
  });
};
