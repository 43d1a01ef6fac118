import type { RequestHandler } from 'express';

/** For how long a browser need not ask again, in seconds. */
const MAX_AGE = 600;

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const ALLOWED_HEADERS =
  'Authorization, Content-Encoding, Content-Type, If-Match, If-None-Match, traceparent, tracestate, X-Request-Id';
/** What a page may read of an answer, beside what it always may. */
const EXPOSED_HEADERS =
  'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, traceresponse, WWW-Authenticate, X-Request-Id';

/**
 * Lets pages of these origins, and of no others, use the store from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Without credentials: a page has to know a token, the browser adds none.
 */
export const createCors = ({ origins }: { origins: readonly string[] }): RequestHandler => {
  const allowed = new Set(origins);
  return (request, response, next) => {
    response.vary('Origin');
    const { origin, 'access-control-request-method': preflight } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return next();
    response.setHeader('Access-Control-Allow-Origin', origin);
    if (request.method !== 'OPTIONS' || preflight === undefined) {
      response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
      return next();
    }
    response.set({
      'Access-Control-Allow-Methods': ALLOWED_METHODS,
      'Access-Control-Allow-Headers': ALLOWED_HEADERS,
      'Access-Control-Max-Age': `${MAX_AGE}`,
    });
    response.status(204).end();
  };
};
