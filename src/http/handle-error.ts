import type { ErrorRequestHandler, RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { closeAfter, isLeftUnread } from './close-in-stages.ts';
import { sendJson } from './send-json.ts';
import { toApiError } from './to-api-error.ts';

/** The last of the handlers: answers what went wrong before, and leaves it to the log. */
export const handleError: ErrorRequestHandler = (thrown, request, response, next) => {
  const error = toApiError(thrown);
  response.locals.errorCode = error.code;
  if (error.status >= 500) response.locals.fault = (error.cause as Error) ?? error;
  if (response.headersSent) return next(thrown);
  if (isLeftUnread(request)) closeAfter(response);
  sendJson(response.status(error.status).set(error.headers), error);
};

export const rejectUnknownPath: RequestHandler = (request) => {
  throw new ApiError('pathUnknown', `There is nothing at ${request.path}.`);
};
