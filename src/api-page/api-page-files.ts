import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const own = join(import.meta.dirname, 'public');
const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const types = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const readPageFile = (folder: string, name: string, type: keyof typeof types) => ({
  name,
  type: types[type],
  body: readFileSync(join(folder, name)),
});

/** The page itself, and what it and the pages about errors are made of: nothing else of these folders is served. */
export const readApiPageFiles = () => ({
  page: readPageFile(own, 'index.html', 'html'),
  parts: [
    readPageFile(own, 'api-page.css', 'css'),
    readPageFile(own, 'api-page.js', 'js'),
    readPageFile(own, 'error-pages.css', 'css'),
    readPageFile(own, 'logo.svg', 'svg'),
    readPageFile(swaggerUi, 'swagger-ui.css', 'css'),
    readPageFile(swaggerUi, 'swagger-ui-bundle.js', 'js'),
  ],
});
