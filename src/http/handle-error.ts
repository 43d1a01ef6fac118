import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { closeAfter, isLeftUnread } from './close-in-stages.ts';
import { sendJson } from './send-json.ts';
import { toApiError } from './to-api-error.ts';

const PROBLEM = 'application/problem+json';

/** The last handler: answers what went wrong in the others, as an Error or as problem details, and leaves it to the log. */
export const createErrorHandler =
  ({ basePath }: { basePath: string }): ErrorRequestHandler =>
  (thrown, request, response, next) => {
    const error = toApiError(thrown);
    response.locals.errorCode = error.code;
    if (error.status >= 500) response.err = (error.cause as Error) ?? error;
    if (response.headersSent) return next(thrown);
    if (isLeftUnread(request)) closeAfter(response);
    response.status(error.status).set(error.headers).vary('Accept');
    if (!prefersProblem(request)) return sendJson(response, error);
    response.setHeader('Content-Type', PROBLEM);
    response.end(JSON.stringify(error.toProblem(basePath)));
  };

/** The contract's Error is the default, also for a client that accepts neither (RFC 9110 §12.5.1). */
const prefersProblem = (request: Request): boolean => request.accepts(['application/json', PROBLEM]) === PROBLEM;

export const rejectUnknownPath: RequestHandler = (request) => {
  throw new ApiError('pathUnknown', `There is nothing at ${request.path}.`);
};
