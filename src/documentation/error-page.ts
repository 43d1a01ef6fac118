import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errors } from '../errors.ts';
import { exampleOf } from '../openapi/describe-paths.ts';

const all = Object.values(errors);

/** The page with a section for each error, to which the `type` of problem details links. */
export const renderErrorPage = (basePath: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Errors – Plant Store API</title>
    <link rel="icon" type="image/svg+xml" href="logo.svg">
    <link rel="stylesheet" href="pages.css">
  </head>
  <body>
    <header class="bar"><a href="../docs">Plant Store API</a></header>
    <main class="errors">
      <h1>Errors</h1>
      <table>
        <thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">When</th></tr></thead>
        <tbody>
          ${all.map(renderRow).join('\n          ')}
        </tbody>
      </table>
      ${all.map((error) => renderSection(basePath, error)).join('\n      ')}
    </main>
  </body>
</html>
`;

const renderRow = ({ code, status, when }: ErrorCode): string =>
  `<tr><th scope="row"><a href="#${code}">${code}</a></th><td>${status}</td><td>${escapeHtml(when)}</td></tr>`;

const renderSection = (basePath: string, error: ErrorCode): string => {
  const { code, status, title, when, advice } = error;
  const example = exampleOf(error);
  const problem = JSON.stringify(example.toProblem(basePath), null, 2);
  return `<section id="${code}">
        <h2>${code}: ${escapeHtml(title)}</h2>
        <p>The service responds with <strong>${status} ${STATUS_CODES[status]}</strong> and this code when ${escapeHtml(when)}.</p>
        <p>${escapeHtml(advice)}</p>
        <pre tabindex="0"><code>${escapeHtml(JSON.stringify(example.body))}</code></pre>
        <p>With <code>Accept: application/problem+json</code>:</p>
        <pre tabindex="0"><code>${escapeHtml(problem)}</code></pre>
      </section>`;
};

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
