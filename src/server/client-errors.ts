import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { StoreError } from '../errors.ts';
import { toErrorResponse } from '../http/error-response.ts';
import { DEFAULT_HEADERS } from '../http/response-headers.ts';
import { sendJson } from '../http/send-json.ts';
import type { Connections } from './connections.ts';

/** The code of the error for a request that does not arrive within `requestTimeout`. */
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

export const REQUEST_NOT_HTTP = new StoreError('requestNotHttp');
export const CONNECT_NOT_ALLOWED = new StoreError('methodNotAllowed', 'CONNECT is not allowed here.', {
  headers: { Allow: '' },
});
/** The client closed its side of the connection in the middle of a body. */
const ENDED_EARLY = 'HPE_INVALID_EOF_STATE';
const BODY_ENDED_EARLY = new StoreError('requestNotHttp', 'The client stopped sending within the body.');
const BODY_NOT_HTTP = new StoreError('requestNotHttp', 'The body is not valid HTTP/1.1.');
const REQUEST_TOO_SLOW = new StoreError('requestTooSlow');

type RefusalsOptions = {
  connections: Pick<Connections, 'find' | 'enqueue' | 'replaceLast' | 'endInStages' | 'isLingering'>;
  /** Called with each error that is sent. */
  onRefused?: ((error: StoreError) => void) | undefined;
};

/** The error of a `clientError` event. */
export type ClientError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** Responds to data and requests that never reach the app. */
export const createRefusals = ({ connections, onRefused = () => {} }: RefusalsOptions) => {
  const { enqueue, endInStages } = connections;

  /** Responds to a request with a malformed body or a target that is not a path, and closes the connection. */
  const refuseRequest = (response: ServerResponse, error: StoreError): void => {
    if (response.headersSent) {
      if (!response.writableFinished) response.destroy();
      return;
    }
    onRefused(error);
    const { status, headers, body } = toErrorResponse(error);
    response.statusCode = status;
    response.setHeaders(new Map(Object.entries({ ...DEFAULT_HEADERS, ...headers, Connection: 'close' })));
    sendJson(response, body);
  };

  /** Responds to data that is not a request, and closes the connection. */
  const refuseConnection = (socket: Socket, error: StoreError): void => {
    onRefused(error);
    const { status, headers, ...content } = toErrorResponse(error);
    const body = JSON.stringify(content.body);
    const all = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
      ...DEFAULT_HEADERS,
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    endInStages(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };

  /**
   * Responds with an Error to data that Node.js cannot parse. Earlier requests on the connection get their responses
   * first. A request that already has its response gets no second one.
   */
  const respondToClientError = (error: ClientError, socket: Socket): void => {
    // The rest of its request no longer matters, not even that it takes long or ends early.
    if (connections.isLingering(socket)) return;
    const storeError = toStoreError(error);
    const { current, last, unfinished } = connections.find(socket) ?? {};
    // Node.js reports a request once. The connection stays open, and the next request on it has its own timeout.
    if (error.code === TIMEOUT && current?.req.complete === false && current.locals?.failBody) return;
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // This is the rest of a body whose request already has its response.
    else if (unfinished?.complete === false) endInStages(socket);
    else if (last === undefined || last.req.complete) enqueue(socket, () => refuseConnection(socket, storeError));
    else if (last !== current) connections.replaceLast(socket, () => refuseConnection(socket, storeError));
    // Nothing may follow the response that is being sent.
    else if (last.headersSent) enqueue(socket, () => endInStages(socket));
    // The handler responds, because only the handler knows what is stored.
    else if (last.locals?.failBody) last.locals.failBody(error.code === ENDED_EARLY ? BODY_ENDED_EARLY : BODY_NOT_HTTP);
    // The request is logged as aborted.
    else if (error.code === ENDED_EARLY) refuseConnection(socket, storeError);
    else refuseRequest(last, storeError);
  };

  return { refuseRequest, refuseConnection, respondToClientError };
};

const toStoreError = ({ code, rawPacket, bytesParsed = 0 }: ClientError): StoreError => {
  if (code === TIMEOUT) return REQUEST_TOO_SLOW;
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return REQUEST_NOT_HTTP;
  const text = rawPacket.toString('latin1');
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)[0] ?? '';
  const [, method] = /^([\w!#$%&'*+.^`|~-]{1,64}) \S+ HTTP\/1\.[01]\r?$/.exec(line) ?? [];
  return method === undefined || method !== method.toUpperCase() ? REQUEST_NOT_HTTP : methodUnknown(method);
};

/** Node.js does not parse the path of a request with an unknown method, so the response lists all methods. */
const methodUnknown = (method: string) =>
  new StoreError('methodNotAllowed', `${method} is not a method of this service; use ${METHODS}.`, {
    headers: { Allow: METHODS },
  });
