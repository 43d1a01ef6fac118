import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorPagePath } from '../http/api-error.ts';
import { exampleOf } from '../openapi/describe-paths.ts';

/**
 * The list of errors, and a page for each code, to which the `type` of problem details links.
 * @returns paths below the base path, and HTML
 */
export const renderErrorPages = ({ basePath, errorCodes }: { basePath: string; errorCodes: readonly ErrorCode[] }) => [
  { path: '/docs/errors', body: layOut(basePath, 'Errors', renderList(basePath, errorCodes)) },
  ...errorCodes.map((error) => ({
    path: errorPagePath(error.code),
    body: layOut(basePath, `${error.code}: ${error.title}`, renderError(basePath, error)),
  })),
];

const renderList = (basePath: string, errorCodes: readonly ErrorCode[]): string => {
  const rows = errorCodes.map(({ code, status, when }) => {
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

const renderError = (basePath: string, error: ErrorCode): string => {
  const { status, when, advice } = error;
  const example = exampleOf(error);
  const problem = JSON.stringify(example.toProblem(basePath), null, 2);
  return `<p>The service responds with <strong>${status} ${STATUS_CODES[status]}</strong> and this code when ${escapeHtml(when)}.</p>
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
