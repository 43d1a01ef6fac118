import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errors } from '../../src/errors.ts';
import { exampleOf } from '../../src/openapi/describe-paths.ts';
import { codeBlock, heading, list, renderPage, table } from './markdown.ts';

/** What the page says beside the advice of an error: the causes behind one code. */
const causes: Record<number, string[]> = {
  [errors.tooManyRequests.code]: [
    'The token, or an address without a valid token, sent more requests than `RATE_LIMIT` allows.',
    'More than 60 wrong tokens came from one address in a minute. This limit is always on; each process counts for itself.',
  ],
  [errors.overloaded.code]: [
    'A queue is full (`QUEUE_LIMIT`), or was too slow.',
    'All connections to PostgreSQL are in use.',
    'Too many imports or exports are in progress, or the requests of the token hold too much memory.',
    'PostgreSQL canceled a statement that took too long.',
    'Too many others are changing the data, or another transaction has locked it.',
  ],
};

const INTRODUCTION = `Every error response has the body \`{"error": <code>, "message": <text>}\`. The message names every wrong field, and may change
from release to release. Codes are stable and never reused.

Clients that send \`Accept: application/problem+json\` get problem details (RFC 9457) with the same status and headers. \`type\` links to the
page \`/docs/errors\` of the service, which has the same sections as this one.`;

const NOTES = `Every 429 and 503 has a \`Retry-After\` header; [safe retries](safe-retries.md) says what to send again. A request that is not valid HTTP
can get the first form whatever it accepts, and no CORS headers: a page of another origin sees only that it failed.`;

const renderError = (error: ErrorCode) => {
  const { code, status, title, when, advice, example } = error;
  const { [code]: known } = causes;
  const parts = [
    heading(2, String(code), `${code}: ${title}`),
    `Status ${status} ${STATUS_CODES[status]}, when ${when}.`,
    ...(known ? [`Causes, which the message tells apart:\n\n${list(known)}`] : []),
    `**What to do:** ${advice}`,
    codeBlock('json', JSON.stringify({ error: code, message: example })),
  ];
  return parts.join('\n\n');
};

export const renderErrors = (): string =>
  renderPage(
    'Errors',
    'src/errors.ts',
    INTRODUCTION,
    codeBlock('json', JSON.stringify(exampleOf(errors.fieldWrong).toProblem(''), null, 1)),
    NOTES,
    table(
      ['code', 'status', 'when'],
      Object.values(errors).map(({ code, status, when }) => [`[${code}](#${code})`, String(status), when]),
    ),
    ...Object.values(errors).map(renderError),
  );
