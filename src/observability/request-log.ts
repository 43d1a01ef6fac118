import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';

declare module 'express-serve-static-core' {
  interface Locals {
    /** The number of plants that an export sent so far, for the log. */
    progress?: { rows: number };
    /** When the request started, in ms of the monotonic clock, for the log. */
    startedAt?: number;
  }
}

const REQUEST_ID = /^[\w.:=+/@-]{1,128}$/;

/** Logs one line per request: token name, method, path, status and duration. Never a token, a query or a body. */
export const createRequestLog = ({ logger }: { logger: Logger }): RequestHandler => {
  const log = pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    genReqId: nameRequest,
    // The request's logger binds only its id. `quietReqLogger` does the same, but creates two loggers per request, one the
    // prototype of the other, which costs a fifth of the throughput (record 0034).
    customAttributeKeys: { req: 'requestId' },
    wrapSerializers: false,
    serializers: { requestId: (request) => request.id },
    customLogLevel: (_request, response) => levelOf(response as Response),
    customSuccessMessage: (_request, response) => (response.writableFinished ? 'request completed' : 'request aborted'),
    customErrorMessage: () => 'request failed',
    customSuccessObject: (request, response) => fieldsOf(request, response as Response),
    customErrorObject: (request, response) => faultFieldsOf(request, response as Response),
  });
  return (request, response, next) => {
    response.locals.startedAt = performance.now();
    log(request, response, next);
  };
};

/** Sets the request's id for the log and the response: a valid `X-Request-Id` of the client, or else a new one. */
const nameRequest = ({ headers }: IncomingMessage, response: ServerResponse): string => {
  const sent = headers['x-request-id'];
  const id = typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
  response.setHeader('X-Request-Id', id);
  return id;
};

/** Overload causes many 5xx responses. They are warnings, without a stack, so that logging adds little to the load. */
const isFault = ({ locals }: Response) => locals.error?.isFault !== false;

const levelOf = (response: Response) => {
  if (response.err === undefined) return 'info';
  return isFault(response) ? 'error' : 'warn';
};

const fieldsOf = (request: IncomingMessage, { headersSent, statusCode, locals }: Response) => ({
  method: request.method,
  path: (request as { originalUrl?: string }).originalUrl?.split('?', 1)[0],
  // Without headers, the client disconnected before it got a status.
  status: headersSent ? statusCode : undefined,
  traceId: locals.traceId,
  token: locals.tokenName,
  error: locals.error?.code,
  rows: locals.progress?.rows,
  duration: Math.round(performance.now() - (locals.startedAt ?? 0)),
});

const faultFieldsOf = (request: IncomingMessage, response: Response) => {
  const fields = fieldsOf(request, response);
  return isFault(response) ? { ...fields, err: response.err } : fields;
};
