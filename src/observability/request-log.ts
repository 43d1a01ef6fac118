import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { errors } from '../errors.ts';
import { clientIp } from '../http/client-address.ts';

const REQUEST_ID = /^[\w.:=+/@-]{1,128}$/;

/** How many requests that fail with the same error have a line in each second. All fail while the database is down. */
const MAX_FAILURES = 100;
const SECOND = 1000;
/** The maximum number of characters of a path, so that lines are short enough for several workers to write (logger.ts). */
const MAX_PATH = 1000;
/** A token that a client has put into the path or its request id by mistake, perhaps cut off. */
const TOKEN = /plant(_|%5[fF])[\w-]{20,}|eyJ[\w.-]{10,}/g;
const PLANT_PATH = /\/plants\/(-?\d+)$/;

/** Logs one line per request, never with a token, a query or a body. Of the same failures in a second, only the first has its cause. */
export const createRequestLog = (logger: Logger): RequestHandler => {
  const seconds = new Map<number | undefined, { startedAt: number; failures: number }>();
  const countFailure = (code: number | undefined) => {
    const now = performance.now();
    const last = seconds.get(code);
    const second = last && now - last.startedAt < SECOND ? last : { startedAt: now, failures: 0 };
    seconds.set(code, second);
    second.failures++;
    if (second.failures === MAX_FAILURES + 1) setTimeout(sumUp, second.startedAt + SECOND - now, code, second).unref();
    return second.failures;
  };
  const sumUp = (code: number | undefined, { failures }: { failures: number }) =>
    logger.error({ error: code, requests: failures - MAX_FAILURES }, 'more requests failed in this second');

  const levelOf = ({ originalUrl }: Request, response: Response) => {
    const { err, locals } = response;
    if (err === undefined) return /^\/(livez|readyz)(\?|$)/.test(originalUrl) ? 'debug' : 'info';
    if (!isFault(response)) return 'warn';
    locals.failures = countFailure(locals.error?.code);
    // What may have changed something always has its line.
    return locals.failures > MAX_FAILURES && err.name !== 'OutcomeUnknownError' ? 'silent' : 'error';
  };

  return pinoHttp<Request, Response>({
    logger,
    genReqId: begin,
    // The request's logger binds only its id. `quietReqLogger` does the same, but creates two loggers per request, one the
    // prototype of the other, which costs a fifth of the throughput (record 0034).
    customAttributeKeys: { req: 'requestId' },
    wrapSerializers: false,
    serializers: { requestId: (request) => request.id },
    customLogLevel: levelOf,
    customSuccessMessage: (_request, response) => (response.writableFinished ? 'request completed' : 'request aborted'),
    customErrorMessage: () => 'request failed',
    customSuccessObject: fieldsOf,
    customErrorObject: fieldsOf,
  });
};

/**
 * Notes when the request started, and from where.
 * @returns its id for the log and the response: a valid `X-Request-Id` of the client, or else a new one
 */
const begin = (request: Request, response: Response): string => {
  Object.assign(response.locals, { startedAt: performance.now(), client: clientIp(request) });
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && REQUEST_ID.test(sent) && sent.search(TOKEN) === -1 ? sent : randomUUID();
  response.setHeader('X-Request-Id', id);
  return id;
};

/** Overload causes many 5xx responses. They are warnings, without a stack, so that logging adds little to the load. */
const isFault = ({ locals: { error } }: Response) => error === undefined || errors[error.kind].isFault !== false;

/** The path of a request for the log and the traces: without the query, and without tokens. */
export const pathOf = ({ originalUrl }: Pick<Request, 'originalUrl'>): string | undefined =>
  originalUrl.split('?', 1)[0]?.slice(0, MAX_PATH).replace(TOKEN, '[token]');

const fieldsOf = (request: Request, response: Response) => {
  const { headersSent, statusCode, locals, err } = response;
  const path = pathOf(request);
  return {
    client: locals.client,
    method: request.method,
    path,
    // Without headers, the client disconnected before it got a status.
    status: headersSent ? statusCode : undefined,
    traceId: locals.traceId,
    token: locals.tokenName,
    // As text, because most tools round large numbers. A request that was refused first has it in its path.
    plant: locals.plantId?.toString() ?? PLANT_PATH.exec(path ?? '')?.[1],
    error: locals.error?.code,
    // The client got no message.
    reason: headersSent && !response.writableEnded ? locals.error?.message : undefined,
    rows: locals.progress?.rows,
    duration: Math.round(performance.now() - (locals.startedAt ?? 0)),
    // The response to a bug says that the log has the cause.
    err: locals.failures === 1 || locals.error?.kind === 'internal' ? err : undefined,
  };
};
