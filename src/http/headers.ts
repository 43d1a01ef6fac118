import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { StoreError } from '../errors.ts';

/** If one of these is repeated, Node.js keeps the first, while a proxy may keep the last. */
const SINGLE_HEADERS = new Map(['Host', 'Authorization', 'Content-Type'].map((name) => [name.toLowerCase(), name]));

/** `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2). */
const HOST = /^(\[[\da-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * Rejects requests that a proxy and this service may interpret differently: HTTP/1.1 with a missing or invalid Host
 * (RFC 9112 §3.2), a repeated header that must be single, a transfer coding in HTTP/1.0 (§6.1), or one other than `chunked` (§7),
 * which Node.js would ignore.
 */
export const checkHeaders: RequestHandler = (request, response, next) => {
  const problem = findProblem(request);
  if (problem === undefined) return next();
  response.setHeader('Connection', 'close');
  throw new StoreError('requestNotHttp', problem);
};

const findProblem = ({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined => {
  const { host, 'transfer-encoding': coding } = headers;
  if (!['1.0', '1.1'].includes(httpVersion)) return 'The version of HTTP must be 1.0 or 1.1.';
  if (host === undefined && httpVersion !== '1.0') return 'The Host header is missing.';
  if (host !== undefined && !HOST.test(host)) return 'The Host header is not a host with an optional port.';
  if (coding !== undefined && httpVersion === '1.0') return 'A Transfer-Encoding needs HTTP/1.1.';
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'The Transfer-Encoding must be chunked.';
  const repeated = findRepeated(rawHeaders);
  return repeated && `There is more than one ${SINGLE_HEADERS.get(repeated)} header.`;
};

/** @param rawHeaders names and values in turn. (`headersDistinct` would hold all of them a second time.) */
const findRepeated = (rawHeaders: readonly string[]): string | undefined => {
  const found = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (found.has(name)) return name;
    if (SINGLE_HEADERS.has(name)) found.add(name);
  }
  return undefined;
};

/** A route may override these. The other headers that helmet sets only matter for pages. */
export const DEFAULT_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };

const defaults = Object.entries(DEFAULT_HEADERS);

export const setDefaultHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of defaults) response.setHeader(name, value);
  next();
};

/** How long a browser may cache a preflight response, in seconds. */
const MAX_AGE = 600;

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** The response headers that a page may read, besides those that are always allowed. */
const EXPOSED_HEADERS =
  'Accept, Accept-Encoding, Content-Disposition, ETag, Idempotent-Replayed, Link, RateLimit, RateLimit-Policy, Retry-After, traceresponse, WWW-Authenticate, X-Request-Id';

/**
 * Allows pages of these origins to use the service from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * Credentials are not allowed: the page must send a token itself.
 */
export const createCors =
  ({ origins }: { origins: readonly string[] }): RequestHandler =>
  (request, response, next) => {
    response.vary('Origin');
    const { origin, 'access-control-request-method': preflight } = request.headers;
    if (origin === undefined || !origins.includes(origin)) return next();
    response.setHeader('Access-Control-Allow-Origin', origin);
    if (request.method !== 'OPTIONS' || preflight === undefined) {
      response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
      return next();
    }
    response.vary('Access-Control-Request-Headers').set({
      'Access-Control-Allow-Methods': ALLOWED_METHODS,
      // All: tools that watch a page add headers of their own, such as baggage.
      'Access-Control-Allow-Headers': request.headers['access-control-request-headers'] ?? '',
      'Access-Control-Max-Age': `${MAX_AGE}`,
    });
    response.status(204).end();
  };
