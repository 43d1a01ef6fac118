import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { errorCodes } from './error-codes.ts';

declare module 'express-serve-static-core' {
  interface Locals {
    /** Whose token the request carries; for the log. */
    tokenName?: string;
    /** The Error's code, where the answer is one; for the log. */
    errorCode?: number;
    /** What the store failed of; for the log. */
    fault?: Error;
  }
}

const SANE_REQUEST_ID = /^[\w.:=+/@-]{1,128}$/;

/** One line a request: who asked for what, what came of it and how long it took. Never a token, a query or a body. */
export const createRequestLog =
  ({ logger }: { logger: Logger }): RequestHandler =>
  (request, response, next) => {
    const startedAt = Date.now();
    const requestId = requestIdOf(request);
    response.setHeader('X-Request-Id', requestId);
    response.once('close', () => {
      const { fault, errorCode } = response.locals;
      const fields = fieldsOf(request, response, { requestId, startedAt });
      if (fault === undefined) logger.info(fields, response.writableFinished ? 'request completed' : 'request aborted');
      // Refused at once, and no fault: a stack for each would add to the load.
      else if (errorCode === errorCodes.overloaded.code) logger.warn(fields, 'request failed');
      else logger.error({ ...fields, err: fault }, 'request failed');
    });
    next();
  };

const requestIdOf = ({ headers }: Request): string => {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID();
};

const fieldsOf = (
  { method, originalUrl }: Request,
  { headersSent, statusCode, locals }: Response,
  { requestId, startedAt }: { requestId: string; startedAt: number },
) => ({
  requestId,
  method,
  path: originalUrl.split('?', 1)[0],
  // A client that went away was sent no status.
  status: headersSent ? statusCode : undefined,
  traceId: locals.traceId,
  token: locals.tokenName,
  error: locals.errorCode,
  duration: Date.now() - startedAt,
});
