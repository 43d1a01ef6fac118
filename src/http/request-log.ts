import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Response } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { errorCodes } from './error-codes.ts';

declare module 'express-serve-static-core' {
  interface Locals {
    /** Whose token the request carries; for the log. */
    tokenName?: string;
    /** The Error's code, where the answer is one; for the log. */
    errorCode?: number;
  }
}

const SANE_REQUEST_ID = /^[\w.:=+/@-]{1,128}$/;

/** One line a request: who asked for what, what came of it and how long it took. Never a token, a query or a body. */
export const createRequestLog = ({ logger }: { logger: Logger }) =>
  pinoHttp<IncomingMessage, Response>({
    logger: withoutChildren(logger),
    genReqId: (request, response) => {
      const sent = request.headers['x-request-id'];
      const id = typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUID();
      response.setHeader('X-Request-Id', id);
      return id;
    },
    customAttributeKeys: { responseTime: 'duration' },
    customLogLevel: (_request, response) => {
      if (response.statusCode < 500) return 'info';
      return isOverload(response) ? 'warn' : 'error';
    },
    customSuccessObject: (request, response, { duration }) => requestFields(request, response, duration),
    customErrorObject: (request, response, error, { duration }) => ({
      ...requestFields(request, response, duration),
      err: isOverload(response) ? undefined : error,
    }),
    customErrorMessage: () => 'request failed',
    quietResLogger: true,
    wrapSerializers: false,
  });

/** Refused at once, and no fault: a stack for each would add to the load. */
const isOverload = (response: Response) => response.locals.errorCode === errorCodes.overloaded.code;

/** pino-http makes a logger for each request, which nobody writes to here; making it costs as much as the line. */
const withoutChildren = (logger: Logger): Logger => {
  const childless = logger.child({});
  return Object.assign(childless, { child: () => childless });
};

const requestFields = (request: IncomingMessage, response: Response, duration: number) => ({
  requestId: request.id,
  method: request.method,
  path: (response.req.originalUrl ?? '').split('?', 1)[0],
  // A client that went away was sent no status.
  status: response.headersSent ? response.statusCode : undefined,
  duration,
  traceId: response.locals.traceId,
  token: response.locals.tokenName,
  error: response.locals.errorCode,
});
