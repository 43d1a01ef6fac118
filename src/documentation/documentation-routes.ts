import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Router } from 'express';
import type { ErrorCode } from '../http/api-error.ts';
import { handleOtherMethods } from '../http/handle-error.ts';
import { createFixedContent } from '../http/preconditions.ts';
import { renderErrorPages } from './error-pages.ts';

const ownFiles = join(import.meta.dirname, 'public');
const swaggerUiFiles = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The files of the pages. No other files in these folders are served. */
const FILES: [folder: string, name: string, type: string][] = [
  [ownFiles, 'api-page.css', CSS],
  [ownFiles, 'api-page.js', JAVASCRIPT],
  [ownFiles, 'error-pages.css', CSS],
  [ownFiles, 'logo.svg', 'image/svg+xml'],
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
  /** The errors that have a page. */
  errorCodes: readonly ErrorCode[];
};

/** Adds `GET /openapi.json`, the API page (`/docs`), and a page for each error (`/docs/errors`). No token is required. */
export const addDocumentationRoutes = (router: Router, options: DocumentationRoutesOptions): void => {
  const { basePath, document, errorCodes } = options;
  const serve = (path: string, type: string, body: string | Buffer) => {
    const headers = type === HTML ? { 'Content-Security-Policy': CONTENT_SECURITY_POLICY } : {};
    router
      .route(path)
      .get(createFixedContent({ type, body, headers }))
      .all(handleOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  };
  serve('/openapi.json', 'application/json; charset=utf-8', JSON.stringify(document));
  serve('/docs', HTML, readFileSync(join(ownFiles, 'index.html')));
  for (const [folder, name, type] of FILES) serve(`/docs/${name}`, type, readFileSync(join(folder, name)));
  for (const { path, body } of renderErrorPages({ basePath, errorCodes })) serve(path, HTML, body);
};
