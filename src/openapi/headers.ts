import type { Header, Response } from './openapi.ts';

/** A header that may be absent. */
const header = (description: string, example: unknown, schema: Header['schema'] = { type: 'string' }): Header => ({
  description,
  schema,
  example,
});

/** A header that comes with each answer of which it is told. */
const required = (description: string, example: unknown): Header => ({
  description,
  required: true,
  schema: { type: 'string' },
  example,
});

/** The headers of answers to what is no operation alone. */
const ofNoOperation = {
  'Accept-Patch': header('The media type of a patch of what is there (RFC 5789 §3.1).', 'application/merge-patch+json'),
  'Access-Control-Allow-Headers': header('The headers that a page may send.', 'Authorization, Content-Type'),
  'Access-Control-Allow-Methods': header('The methods that a page may use.', 'GET, HEAD, POST, PUT, PATCH, DELETE'),
  'Access-Control-Max-Age': header('For how long a browser need not ask again, in seconds.', '600'),
  Allow: header('The methods that the path has (RFC 9110 §10.2.1).', 'GET, HEAD, POST, OPTIONS'),
} satisfies Record<string, Header>;

/** Every other header of an answer, but those with which HTTP carries the body (Content-Type, Content-Length, Connection …). */
export const headers = {
  Accept: header('The media type that the body should have had (RFC 9110 §15.5.16).', 'application/json'),
  'Access-Control-Allow-Origin': header('The origin of the page that may read the answer.', 'https://example.org'),
  'Access-Control-Expose-Headers': header('The headers that the page may read.', 'ETag, Link'),
  'Cache-Control': required(
    'Whether the answer may be kept, and when it is to be checked (RFC 9111 §5.2).',
    'no-store',
  ),
  'Content-Security-Policy': required(
    'What the page may load: nothing but what the store serves.',
    "default-src 'none'",
  ),
  ETag: required('The version of what is answered; see If-None-Match (RFC 9110 §8.8.3).', '"x3Kq0bZ9v2o"'),
  Location: required('Where the page is (RFC 9110 §10.2.2).', '/docs'),
  Link: header('Where the next page is (RFC 8288).', '</plants?limit=97&cursor=MTc>; rel="next"'),
  RateLimit: header(
    'The requests that are left, and for how many seconds (draft-ietf-httpapi-ratelimit-headers-10 §4).',
    '"default";r=42;t=30',
  ),
  'RateLimit-Policy': header(
    'The requests that are let through in how many seconds (the same draft, §3).',
    '"default";q=600;w=60',
  ),
  'Retry-After': header('When to try again, in seconds (RFC 9110 §10.2.3).', 1, { type: 'integer', minimum: 0 }),
  traceresponse: header(
    'The trace that the request is part of (https://w3c.github.io/trace-context), where the store traces.',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ),
  Vary: header('The headers of the request on which the answer depends (RFC 9110 §12.5.5).', 'Origin'),
  'WWW-Authenticate': header(
    'How to authenticate, and what was wrong with the token (RFC 6750 §3).',
    'Bearer realm="plants", error="invalid_token"',
  ),
  'X-Content-Type-Options': required(
    'The body is of the type that is said (https://fetch.spec.whatwg.org).',
    'nosniff',
  ),
  'X-Request-Id': header(
    "The id of the request in the log: the client's own, if it sent a sane one.",
    '0b2c7b0e-8f5e-4f0b-9c39-2f8f1c0d6a57',
  ),
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers | keyof typeof ofNoOperation;

/** The headers that an answer of any operation may have. */
const ofEveryAnswer: HeaderName[] = [
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Cache-Control',
  'traceresponse',
  'Vary',
  'X-Content-Type-Options',
  'X-Request-Id',
];

/** The headers that an answer may have because of its status, whatever the operation. */
const ofStatus: Record<number, HeaderName[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Accept-Patch', 'Allow'],
  429: ['Retry-After', 'WWW-Authenticate'],
  503: ['Retry-After'],
};

/** The headers of an answer: those of every answer, of its status, and the operation's own. */
export const headersOf = (status: number, ...own: HeaderName[]): Response['headers'] => {
  const names = new Set([...ofEveryAnswer, ...(ofStatus[status] ?? []), ...own]);
  return Object.fromEntries([...names].sort().map((name) => [name, reference(name)]));
};

/** Linters count a component that no operation refers to as unused. */
const reference = (name: HeaderName) =>
  name in ofNoOperation ? ofNoOperation[name as keyof typeof ofNoOperation] : { $ref: `#/components/headers/${name}` };
