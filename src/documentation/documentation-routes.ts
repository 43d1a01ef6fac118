import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Router } from 'express';
import { type ErrorCode, errorPath } from '../http/api-error.ts';
import { createFixedContent } from '../http/preconditions.ts';
import { renderErrorPage } from './error-page.ts';
import { addGet, redirectTo } from './index-routes.ts';

const ownFiles = join(import.meta.dirname, 'public');
const swaggerUiFiles = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The files of the pages. No other files in these folders are served. */
const FILES: [folder: string, name: string, type: string][] = [
  [ownFiles, 'api-page.css', CSS],
  [ownFiles, 'api-page.js', JAVASCRIPT],
  [ownFiles, 'logo.svg', 'image/svg+xml'],
  [ownFiles, 'pages.css', CSS],
  [swaggerUiFiles, 'swagger-ui.css', CSS],
  [swaggerUiFiles, 'swagger-ui-bundle.js', JAVASCRIPT],
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

type DocumentationRoutesOptions = {
  /** Without a trailing slash. */
  basePath: string;
  /** The OpenAPI document. */
  document: object;
  /** The errors to explain. */
  errorCodes: readonly ErrorCode[];
};

/** Adds `GET /openapi.json`, the API page (`/docs`) and the page about errors (`/docs/errors`). No token is required. */
export const addDocumentationRoutes = (router: Router, options: DocumentationRoutesOptions): void => {
  const { basePath, document, errorCodes } = options;
  const serve = (path: string, type: string, body: string | Buffer) => {
    const headers = type === HTML ? { 'Content-Security-Policy': CONTENT_SECURITY_POLICY } : {};
    addGet(router, path, createFixedContent({ type, body, headers }));
  };
  serve('/openapi.json', 'application/json; charset=utf-8', JSON.stringify(document));
  serve('/docs', HTML, readFileSync(join(ownFiles, 'index.html')));
  serve('/docs/errors', HTML, renderErrorPage(basePath, errorCodes));
  for (const [folder, name, type] of FILES) serve(`/docs/${name}`, type, readFileSync(join(folder, name)));
  for (const path of ['/docs', '/docs/errors']) addGet(router, `${path}/`, redirectTo(`${basePath}${path}`));
  addGet(router, '/docs/errors/:code', (request, response, next) => {
    const error = errorCodes.find(({ code }) => `${code}` === request.params.code);
    if (error) redirectTo(`${basePath}${errorPath(error.code)}`)(request, response, next);
    else next('route');
  });
};
