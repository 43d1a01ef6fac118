import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';

/** Longer than the 60 s for which load balancers keep a connection, so that they close first and lose no request; in ms. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** How often slow requests are looked for, in ms. */
const TIMEOUT_CHECK_INTERVAL = 1000;
/** How often connections that went idle are closed while the server stops, in ms. */
const IDLE_CLOSE_INTERVAL = 50;

/** The store cannot listen where it was told to. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(cause: Error) {
    super(`${cause.message}. Set PORT or HOST to where the store can listen.`, { cause });
  }
}

type HttpServerOptions = {
  /** Answers a request, or calls `next` where the target is such that it has no path. */
  handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  /** How long a client may take to send a request, in ms. */
  requestTimeout: number;
};

/** The HTTP server: listens, and stops without losing a request. */
export const createHttpServer = ({ handler, requestTimeout }: HttpServerOptions) => {
  const server = createServer({
    requestTimeout,
    headersTimeout: requestTimeout,
    // The app answers what has no Host, with an Error.
    requireHostHeader: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL,
  });
  const underWay = new Set<ServerResponse>();
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    lastResponses.set(request.socket, response);
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    if (!server.listening) response.setHeader('Connection', 'close');
    handler(request, response, () => request.socket.end(rawAnswer(REQUEST_NOT_HTTP)));
  };
  server.on('request', onRequest);
  // Not the default, which invites the body before the token is checked; whoever reads the body invites it.
  server.on('checkContinue', onRequest);
  // An expectation that is not known is not met and no error (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket) => socket.end(rawAnswer(CONNECT_NOT_ALLOWED)));
  server.on('clientError', answerClientError);
  return {
    /** @returns the port */
    listen: (host: string, port: number) =>
      new Promise<number>((resolve, reject) => {
        const refuse = (error: Error) => reject(new ListenError(error));
        server.once('error', refuse);
        server.listen(port, host, () => {
          server.off('error', refuse);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    /** Takes no more connections and resolves when the requests under way are answered, or cut off after `timeout` ms. */
    close: async (timeout: number) => {
      const closed = closeServer(server, timeout);
      // Or a client would send its next request on a connection that is about to be closed.
      for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close');
      await closed;
    },
  };
};

const closeServer = async (server: Server, timeout: number) => {
  // Connections that become idle after close() would stay open until their keep-alive timeout.
  const closeIdle = setInterval(() => server.closeIdleConnections(), IDLE_CLOSE_INTERVAL);
  const cutOff = setTimeout(() => server.closeAllConnections(), timeout);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(closeIdle);
  clearTimeout(cutOff);
};

/** The last response of each connection, to tell whether what comes behind it may be answered. */
const lastResponses = new WeakMap<Duplex, ServerResponse>();

const REQUEST_NOT_HTTP = new ApiError(
  'requestNotHttp',
  'The request is not valid HTTP/1.1, or its header is too large.',
);
const REQUEST_TOO_SLOW = new ApiError('requestTooSlow', 'The request took too long to arrive.');
const CONNECT_NOT_ALLOWED = new ApiError('methodNotAllowed', 'CONNECT is not allowed here.', {
  headers: { Allow: '' },
});

/**
 * What Node.js cannot parse never reaches the app; it is answered here, with an Error like all else. But never in the
 * place of another answer: a request before it is answered first, and one that was answered already is not again.
 */
const answerClientError = (error: NodeJS.ErrnoException, socket: Socket) => {
  const response = lastResponses.get(socket);
  if (response && !response.writableFinished && !response.destroyed && response.req.complete) {
    response.once('finish', () => socket.destroySoon());
    return;
  }
  const isAnswered = response?.headersSent && !response.req.complete;
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswered) {
    socket.destroy();
    return;
  }
  socket.end(rawAnswer(error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? REQUEST_TOO_SLOW : REQUEST_NOT_HTTP));
};

const rawAnswer = (error: ApiError): string => {
  const body = JSON.stringify(error);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...error.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`;
};
