import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { StoreError } from '../errors.ts';
import { clientIp } from '../http/client-address.ts';
import { toErrorResponse } from '../http/error-response.ts';
import { DEFAULT_HEADERS } from '../http/headers.ts';
import { sendJson } from '../http/send-json.ts';
import type { Connections, ServedResponse } from './connections.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

export const URL_WRONG = new StoreError(
  'requestNotHttp',
  'The URL does not begin with /, or has a character that must be percent-encoded as UTF-8: a space is %20, # is %23, \u00fc is %C3%BC.',
);
/** By the code of llhttp. */
const CAUSES: Record<string, StoreError> = {
  HPE_INVALID_CONSTANT: URL_WRONG,
  HPE_INVALID_URL: URL_WRONG,
  HPE_HEADER_OVERFLOW: new StoreError(
    'requestNotHttp',
    'The header, with the URL, is larger than 16 KiB, or has more than 100 fields.',
  ),
};

/** What the client did when it ended its side within a header or a body, or reset the connection. */
const GONE = ['HPE_INVALID_EOF_STATE', 'ECONNRESET'];
/** The header of a request does not arrive within `headersTimeout`. */
const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

export type RefusalsOptions = {
  connections: Connections;
  /** Called with each error that no route and no middleware saw. */
  onRefused?: ((error: StoreError) => void) | undefined;
  logger?: Pick<Logger, 'info'> | undefined;
};

type ClientError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** Responds to data and requests that never reach the app. */
export const createRefusals = ({ connections, onRefused = () => {}, logger }: RefusalsOptions) => {
  /** Responds to a request with a malformed body or a target that is not a path, and closes the connection. */
  const refuseRequest = (response: ServedResponse, error: StoreError): void => {
    if (response.headersSent) {
      if (!response.writableFinished) response.destroy();
      return;
    }
    const { status, headers, body } = toErrorResponse(error);
    // Express logs and counts what it handles.
    if (response.locals) response.locals.error = error;
    else {
      onRefused(error);
      const client = response.socket ? clientIp({ socket: response.socket }) : undefined;
      logger?.info({ client, status, error: body.error, reason: body.message }, 'request refused');
    }
    response.statusCode = status;
    response.setHeaders(new Map(Object.entries({ ...DEFAULT_HEADERS, ...headers, Connection: 'close' })));
    sendJson(response, body);
  };

  /** Responds to data that is not a request, and closes the connection. */
  const refuseConnection = (socket: Socket, error: StoreError): void => {
    const request = Object.assign(new IncomingMessage(socket), { httpVersionMajor: 1, httpVersionMinor: 1 });
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.once('finish', () => connections.endInStages(socket));
    // What else arrives gets no response of its own, however long the client takes to read this one.
    connections.discardInput(socket);
    refuseRequest(response, error);
  };

  /** Responds with an Error to data that Node.js cannot parse, unless it comes before or with the response to a request. */
  const respondToClientError = (error: ClientError, socket: Socket): void => {
    // The rest of its request no longer matters.
    if (connections.isLingering(socket)) return;
    const current = connections.current(socket);
    // One that was opened in advance must not take a response for that to its first request.
    const isUnused = error.code === TOO_SLOW && socket.bytesRead === 0;
    if (GONE.includes(error.code ?? '') || isUnused || !socket.writable) socket.destroy();
    else if (current?.req.complete) connections.closeBehind(socket, current);
    else if (current) refuseRequest(current, new StoreError('requestNotHttp', 'The body is not valid HTTP/1.1.'));
    // A request that already has its response gets no second one.
    else if (connections.isAnswered(socket)) connections.endInStages(socket);
    else refuseConnection(socket, toStoreError(error));
  };

  const refuseConnect = (socket: Socket): void => {
    // Node.js removes its own listener. Without this one, a reset connection would crash the process.
    socket.on('error', () => {});
    // Node.js no longer tells a response in progress that the client reads, ends its side or is slow: it would never end.
    const headers = { Allow: '' };
    if (connections.current(socket)) socket.destroy();
    else refuseConnection(socket, new StoreError('methodNotAllowed', 'CONNECT is not allowed here.', { headers }));
  };

  return { refuseRequest, refuseConnect, respondToClientError };
};

const PROXY_PROTOCOL =
  'A proxy sends the PROXY protocol, which the service does not speak: let it send X-Forwarded-For instead, and set TRUST_PROXY.';
/** What a connection begins with that is for another port, and what to do. */
const OTHER_PROTOCOLS: [start: string, message: string][] = [
  [
    '\x16\x03',
    'The client speaks TLS, and this port does not: begin the URL with http:, or go through a proxy that ends TLS.',
  ],
  ['PRI * HTTP/2', 'The client speaks HTTP/2, and this port only HTTP/1.1.'],
  ['PROXY ', PROXY_PROTOCOL],
  ['\r\n\r\n\0\r\nQUIT\n', PROXY_PROTOCOL],
];

const toStoreError = ({ code = '', rawPacket, bytesParsed = 0 }: ClientError): StoreError => {
  if (code === TOO_SLOW) return new StoreError('requestTooSlow');
  const [, other] = OTHER_PROTOCOLS.find(([start]) => rawPacket?.toString('latin1', 0, start.length) === start) ?? [];
  if (other) return new StoreError('requestNotHttp', other);
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return CAUSES[code] ?? new StoreError('requestNotHttp');
  const text = rawPacket.toString('latin1');
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)[0] ?? '';
  const [, method] = /^([\w!#$%&'*+.^`|~-]{1,64}) \S+ HTTP\/1\.[01]\r?$/.exec(line) ?? [];
  if (method === undefined) return new StoreError('requestNotHttp');
  if (method !== method.toUpperCase())
    return new StoreError('requestNotHttp', 'Methods are written in capital letters, such as GET.');
  // Node.js does not parse the path of a request with an unknown method, so the response lists all methods.
  const message = `${method} is not a method of this service; use ${METHODS}.`;
  return new StoreError('methodNotAllowed', message, { headers: { Allow: METHODS } });
};
