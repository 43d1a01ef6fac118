import { STATUS_CODES } from 'node:http';
import { errorPagePath } from '../http/api-error.ts';
import { type ErrorKind, errorCodes } from '../http/error-codes.ts';
import { exampleError } from '../openapi/error-responses.ts';

const kinds = Object.keys(errorCodes) as ErrorKind[];

/**
 * The pages that the `type` of problem details names, one for each code, and the list of them.
 * @returns their paths below the base path, and their HTML
 */
export const renderErrorPages = ({ basePath }: { basePath: string }): { path: string; body: string }[] => [
  { path: '/docs/errors', body: layOut(basePath, 'Errors', renderList(basePath)) },
  ...kinds.map((kind) => {
    const { code, title } = errorCodes[kind];
    return { path: errorPagePath(code), body: layOut(basePath, `${code}: ${title}`, renderError(basePath, kind)) };
  }),
];

const renderList = (basePath: string): string => {
  const rows = kinds.map((kind) => {
    const { code, status, when } = errorCodes[kind];
    const link = `<a href="${basePath}${errorPagePath(code)}">${code}</a>`;
    return `<tr><th scope="row">${link}</th><td>${status}</td><td>${escapeHtml(when)}</td></tr>`;
  });
  return `<table>
        <thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">When</th></tr></thead>
        <tbody>
          ${rows.join('\n          ')}
        </tbody>
      </table>`;
};

const renderError = (basePath: string, kind: ErrorKind): string => {
  const { status, when, advice } = errorCodes[kind];
  const example = exampleError(kind);
  const problem = JSON.stringify(example.toProblem(basePath), null, 2);
  return `<p>The store answers <strong>${status} ${STATUS_CODES[status]}</strong> with this code when ${escapeHtml(when)}.</p>
      <h2>What to do</h2>
      <p>${escapeHtml(advice)}</p>
      <h2>Example</h2>
      <pre tabindex="0"><code>${escapeHtml(JSON.stringify(example))}</code></pre>
      <p>With <code>Accept: application/problem+json</code>:</p>
      <pre tabindex="0"><code>${escapeHtml(problem)}</code></pre>
      <p><a href="${basePath}/docs/errors">All errors</a></p>`;
};

/** A page. `content`: HTML. */
const layOut = (basePath: string, title: string, content: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeHtml(title)} – Plant Store API</title>
    <link rel="icon" type="image/svg+xml" href="${basePath}/docs/logo.svg">
    <link rel="stylesheet" href="${basePath}/docs/error-pages.css">
  </head>
  <body>
    <header><a href="${basePath}/docs">Plant Store API</a></header>
    <main>
      <h1>${escapeHtml(title)}</h1>
      ${content}
    </main>
  </body>
</html>
`;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
