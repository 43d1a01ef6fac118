import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import { closeAfter, closesConnection, endInStages } from './close-in-stages.ts';
import type { MessageClasses } from './message-classes.ts';
import { refuseConnection, refuseRequest } from './refuse.ts';

/** Longer than the 60 s for which load balancers keep a connection, so that they close first and lose no request; in ms. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** How often slow requests are looked for, in ms. */
const TIMEOUT_CHECK_INTERVAL = 1000;
/** How often connections that went idle are closed while the server stops, in ms. */
const IDLE_CLOSE_INTERVAL = 50;

/** The store cannot listen where it was told to. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(addressVariables: string, cause: Error) {
    super(`${cause.message}. Set ${addressVariables} to where the store can listen.`, { cause });
  }
}

type HttpServerOptions = {
  /** Answers a request, or calls `next` where the target has no path, or where an answer failed that had begun. */
  handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  /** Node.js's own where there are none. */
  classes?: MessageClasses;
  /** How long a client may take to send a request, in ms. */
  requestTimeout: number;
  /** How many connections may be open at once; more are closed as they come. */
  maxConnections?: number;
  /** The settings that say where it listens. */
  addressVariables?: string;
  /** Told of what was answered without the handler. */
  onRefused?: ((error: ApiError) => void) | undefined;
};

/** An HTTP server: listens, and stops without losing a request. */
export const createHttpServer = (options: HttpServerOptions) => {
  const { handler, classes, requestTimeout, maxConnections, addressVariables = 'PORT or HOST', onRefused } = options;
  const server = createServer({
    ...classes,
    requestTimeout,
    headersTimeout: requestTimeout,
    // The app answers what has no Host, with an Error.
    requireHostHeader: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL,
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  const refuse: Refuse = {
    request: (response, error) => {
      refuseRequest(response, error);
      onRefused?.(error);
    },
    connection: (socket, error) => {
      refuseConnection(socket, error);
      onRefused?.(error);
    },
  };
  const lastResponses = new Map<Duplex, ServerResponse | undefined>();
  let closing = false;
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const before = lastResponses.get(request.socket);
    if (before && closesConnection(before)) return;
    lastResponses.set(request.socket, response);
    // Node.js loses what comes with a request that asks for another protocol, and would wait for it, or read on amid it.
    if (closing || request.headers.upgrade !== undefined) closeAfter(response);
    handler(request, response, () => refuse.request(response, REQUEST_NOT_HTTP));
  };
  server.on('connection', (socket) => {
    lastResponses.set(socket, undefined);
    socket.once('close', () => lastResponses.delete(socket));
  });
  server.on('request', onRequest);
  // Not the default, which invites the body before the token is checked; whoever reads the body invites it.
  server.on('checkContinue', onRequest);
  // An expectation that is not known is not met and no error (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket) => {
    // Node.js takes its own listener away: a connection that is reset would end the process.
    socket.on('error', () => {});
    afterwards(lastResponses.get(socket), () => refuse.connection(socket, CONNECT_NOT_ALLOWED));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    answerClientError(error, socket, lastResponses.get(socket), refuse),
  );
  return {
    /** @returns the port */
    listen: (host: string, port: number) =>
      new Promise<number>((resolve, reject) => {
        const fail = (error: Error) => reject(new ListenError(addressVariables, error));
        server.once('error', fail);
        server.listen(port, host, () => {
          server.off('error', fail);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    /**
     * Asks with each answer for the connection to be closed. After `delay` ms, for which whoever sends requests here may
     * go on before it learns that it should not, takes no more connections, and resolves when the requests under way are
     * answered, or cut off after `timeout` ms.
     */
    close: async ({ delay, timeout }: { delay: number; timeout: number }) => {
      closing = true;
      // Or a client would send its next request on a connection that is about to be closed.
      for (const last of lastResponses.values()) if (last && !last.headersSent) closeAfter(last);
      if (delay > 0) await setTimeout(delay);
      await closeServer(server, timeout);
    },
  };
};

const closeServer = async (server: Server, timeout: number) => {
  // Connections that become idle after close() would stay open until their keep-alive timeout.
  const closeIdle = setInterval(() => server.closeIdleConnections(), IDLE_CLOSE_INTERVAL);
  const cutOff = globalThis.setTimeout(() => server.closeAllConnections(), timeout);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(closeIdle);
  clearTimeout(cutOff);
};

const REQUEST_NOT_HTTP = new ApiError(
  'requestNotHttp',
  'The request is not valid HTTP/1.1, or its header is too large.',
);
const REQUEST_TOO_SLOW = new ApiError('requestTooSlow', 'The request took too long to arrive.');
const CONNECT_NOT_ALLOWED = new ApiError('methodNotAllowed', 'CONNECT is not allowed here.', {
  headers: { Allow: '' },
});

/** Answers without the handler: a request, or a connection on which what came is none. */
type Refuse = {
  request: (response: ServerResponse, error: ApiError) => void;
  connection: (socket: Duplex, error: ApiError) => void;
};

/**
 * What Node.js cannot parse never reaches the app; it is answered here, with an Error like all else. But never in the
 * place of another answer: the requests before it are answered first, and one that was answered already is not again.
 */
const answerClientError = (
  error: NodeJS.ErrnoException,
  socket: Socket,
  last: ServerResponse | undefined,
  refuse: Refuse,
): void => {
  const answer = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? REQUEST_TOO_SLOW : REQUEST_NOT_HTTP;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (last?.req.complete !== false) afterwards(last, () => refuse.connection(socket, answer));
  // Who ended amid a body has most likely gone away, which is how the log shall tell it.
  else if (error.code === 'HPE_INVALID_EOF_STATE' && last.socket) refuse.connection(socket, answer);
  else if (!last.headersSent) refuse.request(last, answer);
  else afterwards(last, () => endInStages(socket));
};

/** Goes on when a response is sent, and with it all that were due before it on its connection; at once where it is. */
const afterwards = (response: ServerResponse | undefined, goOn: () => void) => {
  if (response === undefined || response.writableFinished) goOn();
  else response.once('finish', goOn);
};
