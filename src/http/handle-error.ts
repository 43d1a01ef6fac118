import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import { StoreError } from '../errors.ts';
import type { Hold } from './byte-budget.ts';
import { toErrorResponse } from './error-response.ts';
import { sendJsonText } from './send-json.ts';

/**
 * Node.js discards the rest of a body to keep the connection for the next request. If the rest may exceed this, in
 * bytes, the connection is closed instead.
 */
const MAX_DISCARDED = 65_536;

/**
 * Makes a response the last on its connection if reading of the body was stopped, or its rest may exceed MAX_DISCARDED.
 * The header must not be sent yet.
 */
export const closeIfUnread = (request: Request, response: Response): void => {
  const { 'transfer-encoding': chunked, 'content-length': length = 0 } = request.headers;
  const isLong = chunked !== undefined || Number(length) > MAX_DISCARDED;
  if (!request.complete && (request.isPaused() || isLong)) response.setHeader('Connection', 'close');
};

const PROBLEM = 'application/problem+json';

type ErrorHandlerOptions = {
  basePath: string;
  toStoreError: (thrown: unknown) => StoreError;
  hold: Hold;
};

/** The last handler. Responds to every error with an Error or problem details, and passes the cause to the log. */
export const createErrorHandler =
  ({ basePath, toStoreError, hold }: ErrorHandlerOptions): ErrorRequestHandler =>
  (thrown, request, response, next) => {
    // The client is gone, and the request is logged.
    if (response.destroyed) return;
    const error = toStoreError(thrown);
    response.locals.error = error;
    const { status, headers, body, toProblem } = toErrorResponse(error);
    if (status >= 500) response.err = (error.cause as Error) ?? error;
    if (response.headersSent) return next(thrown);
    closeIfUnread(request, response);
    response.status(status).set(headers).vary('Accept');
    // The contract's Error is the default, even for clients that accept neither (RFC 9110 §12.5.1).
    if (request.accepts(['application/json', PROBLEM]) !== PROBLEM) sendJsonText(response, JSON.stringify(body), hold);
    else sendJsonText(response, JSON.stringify(toProblem(basePath)), hold, PROBLEM);
  };

/** The maximum number of characters of a path in a message. */
const SHOWN_PATH = 100;

export const rejectUnknownPath: RequestHandler = ({ path }) => {
  const shown = path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}…` : path;
  const advice = /.\/$|\/\//.test(path)
    ? ' The paths of operations neither end with a slash nor have two in a row.'
    : '';
  throw new StoreError('pathUnknown', `There is nothing at ${shown}.${advice}`);
};

/**
 * The last handler of a route. Responds to OPTIONS with the route's methods (RFC 9110 §9.3.7), without a token, and to any
 * other method with 405 (§15.5.6).
 */
export const handleOtherMethods =
  (others: { 'Accept-Patch'?: string } = {}): RequestHandler =>
  (request, response) => {
    const headers = { Allow: methodsOf(request.route), ...others };
    if (request.method === 'OPTIONS') return void response.set(headers).status(204).end();
    const message = `${request.method} is not allowed here; use ${headers.Allow}.`;
    throw new StoreError('methodNotAllowed', message, { headers });
  };

/** In the order in which they were added. Express gives HEAD to the handler of GET. */
const methodsOf = (route: { methods: Record<string, boolean> }): string => {
  const own = Object.keys(route.methods).filter((method) => method !== '_all');
  const all = [...own.flatMap((method) => (method === 'get' ? ['get', 'head'] : method)), 'options'];
  return all.join(', ').toUpperCase();
};

export const addGet = (router: Router, path: string, ...handlers: RequestHandler[]): void => {
  router.route(path).get(handlers).all(handleOtherMethods());
};
