import type { Header, Response } from './openapi.ts';

/** An optional header. */
const header = (description: string, example: unknown, schema: Header['schema'] = { type: 'string' }): Header => ({
  description,
  schema,
  example,
});

/** A header that is always present in the responses that list it. */
const required = (description: string, example: unknown): Header => ({
  description,
  required: true,
  schema: { type: 'string' },
  example,
});

/** Headers that occur only in responses to requests that are not operations. */
const nonOperationHeaders = {
  'Accept-Patch': header('The media type that PATCH accepts (RFC 5789 §3.1).', 'application/merge-patch+json'),
  'Access-Control-Allow-Headers': header('The headers that a page may send.', 'Authorization, Content-Type'),
  'Access-Control-Allow-Methods': header('The methods that a page may use.', 'GET, HEAD, POST, PUT, PATCH, DELETE'),
  'Access-Control-Max-Age': header('How long a browser may cache the preflight response, in seconds.', '600'),
  Allow: header('The methods that the path supports (RFC 9110 §10.2.1).', 'GET, HEAD, POST, OPTIONS'),
} satisfies Record<string, Header>;

/** All other response headers, except those that HTTP itself needs (Content-Type, Content-Length, Connection …). */
export const headers = {
  Accept: header('The media type that the request body should have (RFC 9110 §15.5.16).', 'application/json'),
  'Access-Control-Allow-Origin': header('The origin whose pages may read the response.', 'https://example.org'),
  'Access-Control-Expose-Headers': header('The response headers that the page may read.', 'ETag, Link'),
  'Cache-Control': required(
    'Whether the response may be cached, and whether it must be revalidated (RFC 9111 §5.2).',
    'no-store',
  ),
  'Content-Disposition': required('The name of the file (RFC 6266).', 'attachment; filename="plants.ndjson"'),
  'Content-Security-Policy': required('What the page may load: only files of this service.', "default-src 'none'"),
  ETag: required(
    'The version of the response body, for If-Match and If-None-Match (RFC 9110 §8.8.3).',
    '"x3Kq0bZ9v2o"',
  ),
  Location: required('The path to request instead (RFC 9110 §10.2.2).', '/docs'),
  Link: header('The URL of the next page (RFC 8288).', '</plants?limit=97&cursor=MTc>; rel="next"'),
  RateLimit: header(
    'The remaining requests, and the seconds until the limit resets (draft-ietf-httpapi-ratelimit-headers-10 §4).',
    '"default";r=42;t=30',
  ),
  'RateLimit-Policy': header(
    'The maximum number of requests, and the length of the window in seconds (same draft, §3).',
    '"default";q=600;w=60',
  ),
  'Retry-After': header('How long to wait before a retry, in seconds (RFC 9110 §10.2.3).', 1, {
    type: 'integer',
    minimum: 0,
  }),
  traceresponse: header(
    'The trace of the request, if tracing is enabled (https://w3c.github.io/trace-context).',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ),
  Vary: header('The request headers that affect the response (RFC 9110 §12.5.5).', 'Origin'),
  'WWW-Authenticate': header(
    'How to authenticate, and why the token was rejected (RFC 6750 §3).',
    'Bearer realm="plants", error="invalid_token"',
  ),
  'X-Content-Type-Options': required(
    'Tells browsers not to guess the type of the body (https://fetch.spec.whatwg.org).',
    'nosniff',
  ),
  'X-Request-Id': header(
    "The id of the request in the log: the client's X-Request-Id if it is valid, otherwise a generated one.",
    '0b2c7b0e-8f5e-4f0b-9c39-2f8f1c0d6a57',
  ),
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers | keyof typeof nonOperationHeaders;

/** The headers that every response may have. */
const commonHeaders: HeaderName[] = [
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Cache-Control',
  'traceresponse',
  'Vary',
  'X-Content-Type-Options',
  'X-Request-Id',
];

/** The headers that every response with a status may have. */
const statusHeaders: Record<number, HeaderName[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Accept-Patch', 'Allow'],
  429: ['Retry-After', 'WWW-Authenticate'],
  503: ['Retry-After'],
};

/** All headers of a response. `own`: those of the operation. */
export const headersOf = (status: number, ...own: HeaderName[]): NonNullable<Response['headers']> => {
  const names = new Set([...commonHeaders, ...(statusHeaders[status] ?? []), ...own]);
  return Object.fromEntries([...names].sort().map((name) => [name, reference(name)]));
};

/** Headers that no operation uses are inlined, because linters would report the components as unused. */
const reference = (name: HeaderName) =>
  name in nonOperationHeaders
    ? nonOperationHeaders[name as keyof typeof nonOperationHeaders]
    : { $ref: `#/components/headers/${name}` };
