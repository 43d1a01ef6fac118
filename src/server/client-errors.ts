import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { DEFAULT_HEADERS } from '../http/response-headers.ts';
import { sendJson } from '../http/send-json.ts';
import type { Connections } from './connections.ts';

/** The code of the error for a request that does not arrive within `requestTimeout`. */
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

export const REQUEST_NOT_HTTP = new ApiError(commonErrors.requestNotHttp);
export const CONNECT_NOT_ALLOWED = new ApiError(commonErrors.methodNotAllowed, 'CONNECT is not allowed here.', {
  headers: { Allow: '' },
});
/** The client closed its side of the connection in the middle of a body. */
const ENDED_EARLY = 'HPE_INVALID_EOF_STATE';
const BODY_ENDED_EARLY = new ApiError(commonErrors.requestNotHttp, 'The client stopped sending within the body.');
const BODY_NOT_HTTP = new ApiError(commonErrors.requestNotHttp, 'The body is not valid HTTP/1.1.');
const REQUEST_TOO_SLOW = new ApiError(commonErrors.requestTooSlow);

type RefusalsOptions = {
  connections: Pick<Connections, 'find' | 'enqueue' | 'replaceLast' | 'endInStages' | 'isLingering'>;
  /** Called with each error that is sent. */
  onRefused?: ((error: ApiError) => void) | undefined;
};

/** The error of a `clientError` event. */
export type ClientError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** Responds to data and requests that never reach the app. */
export const createRefusals = ({ connections, onRefused = () => {} }: RefusalsOptions) => {
  const { enqueue, endInStages } = connections;

  /** Responds to a request with a malformed body or a target that is not a path, and closes the connection. */
  const refuseRequest = (response: ServerResponse, error: ApiError): void => {
    if (response.headersSent) {
      if (!response.writableFinished) response.destroy();
      return;
    }
    onRefused(error);
    response.statusCode = error.status;
    response.setHeaders(new Map(Object.entries({ ...DEFAULT_HEADERS, ...error.headers, Connection: 'close' })));
    sendJson(response, error);
  };

  /** Responds to data that is not a request, and closes the connection. */
  const refuseConnection = (socket: Socket, error: ApiError): void => {
    onRefused(error);
    const body = JSON.stringify(error);
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
      ...DEFAULT_HEADERS,
      ...error.headers,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    endInStages(socket, `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`);
  };

  /**
   * Responds with an Error to data that Node.js cannot parse. Earlier requests on the connection get their responses
   * first. A request that already has its response gets no second one.
   */
  const respondToClientError = (error: ClientError, socket: Socket): void => {
    // The rest of its request no longer matters, not even that it takes long or ends early.
    if (connections.isLingering(socket)) return;
    const apiError = toApiError(error);
    const { current, last, unfinished } = connections.find(socket) ?? {};
    // Node.js reports a request once. The connection stays open, and the next request on it has its own timeout.
    if (error.code === TIMEOUT && current?.req.complete === false && current.locals?.failBody) return;
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // This is the rest of a body whose request already has its response.
    else if (unfinished?.complete === false) endInStages(socket);
    else if (last === undefined || last.req.complete) enqueue(socket, () => refuseConnection(socket, apiError));
    else if (last !== current) connections.replaceLast(socket, () => refuseConnection(socket, apiError));
    // Nothing may follow the response that is being sent.
    else if (last.headersSent) enqueue(socket, () => endInStages(socket));
    // The handler responds, because only the handler knows what is stored.
    else if (last.locals?.failBody) last.locals.failBody(error.code === ENDED_EARLY ? BODY_ENDED_EARLY : BODY_NOT_HTTP);
    // The request is logged as aborted.
    else if (error.code === ENDED_EARLY) refuseConnection(socket, apiError);
    else refuseRequest(last, apiError);
  };

  return { refuseRequest, refuseConnection, respondToClientError };
};

const toApiError = ({ code, rawPacket, bytesParsed = 0 }: ClientError): ApiError => {
  if (code === TIMEOUT) return REQUEST_TOO_SLOW;
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return REQUEST_NOT_HTTP;
  const text = rawPacket.toString('latin1');
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)[0] ?? '';
  const [, method] = /^([\w!#$%&'*+.^`|~-]{1,64}) \S+ HTTP\/1\.[01]\r?$/.exec(line) ?? [];
  return method === undefined || method !== method.toUpperCase() ? REQUEST_NOT_HTTP : methodUnknown(method);
};

/** Node.js does not parse the path of a request with an unknown method, so the response lists all methods. */
const methodUnknown = (method: string) =>
  new ApiError(commonErrors.methodNotAllowed, `${method} is not a method of this service; use ${METHODS}.`, {
    headers: { Allow: METHODS },
  });
