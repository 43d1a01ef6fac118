import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import { closeAfter, endInStages } from './close-in-stages.ts';
import { createConnections } from './connections.ts';
import type { MessageClasses } from './message-classes.ts';
import { refuseConnection, refuseRequest } from './refuse.ts';
import { toOriginForm } from './request-target.ts';

/** Longer than the 60 s for which load balancers keep a connection, so that they close first and lose no request; in ms. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** How often slow requests and stalled responses are looked for, in ms. */
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
      if (!response.headersSent) onRefused?.(error);
      refuseRequest(response, error);
    },
    connection: (socket, error) => {
      refuseConnection(socket, error);
      onRefused?.(error);
    },
  };
  const connections = createConnections();
  let closing = false;
  const onRequest = (request: IncomingMessage, response: ServerResponse) =>
    connections.serve(request, response, (isLast) => {
      // Node.js loses what comes with a request that asks for another protocol, and would wait for it, or read on amid it.
      if ((closing && isLast) || request.headers.upgrade !== undefined) closeAfter(response);
      const target = toOriginForm(request.url ?? '');
      if (target === undefined) return refuse.request(response, REQUEST_NOT_HTTP);
      request.url = target;
      handler(request, response, () => refuse.request(response, REQUEST_NOT_HTTP));
    });
  server.on('connection', connections.add);
  server.on('request', onRequest);
  // Not the default, which invites the body before the token is checked; whoever reads the body invites it.
  server.on('checkContinue', onRequest);
  // An expectation that is not known is not met and no error (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket: Socket) => {
    // Node.js takes its own listener away: a connection that is reset would end the process.
    socket.on('error', () => {});
    socket.removeAllListeners('data');
    connections.enqueue(socket, () => refuse.connection(socket, CONNECT_NOT_ALLOWED));
  });
  server.on('clientError', (error: ClientError, socket: Socket) =>
    answerClientError({ error, socket, connections, refuse }),
  );
  const stallCheck = setInterval(() => connections.disconnectStalled(requestTimeout), TIMEOUT_CHECK_INTERVAL).unref();
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
      connections.closeBehindResponses();
      if (delay > 0) await setTimeout(delay);
      await closeServer({ server, connections, timeout });
      clearInterval(stallCheck);
    },
  };
};

type Connections = ReturnType<typeof createConnections>;

const closeServer = async ({ server, connections, timeout }: CloseOptions) => {
  const closeIdle = setInterval(() => {
    if (!connections.isSending()) server.closeIdleConnections();
  }, IDLE_CLOSE_INTERVAL);
  const cutOff = globalThis.setTimeout(() => server.closeAllConnections(), timeout);
  // Not http.Server's own, which at once destroys the connections of responses that are complete but not yet sent.
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  clearInterval(closeIdle);
  clearTimeout(cutOff);
  // Stops its timers.
  server.close();
};

type CloseOptions = { server: Server; connections: Connections; timeout: number };

const REQUEST_NOT_HTTP = new ApiError(
  'requestNotHttp',
  'The request is not valid HTTP/1.1, or its header is too large.',
);
const REQUEST_TOO_SLOW = new ApiError('requestTooSlow', 'The request took too long to arrive.');
const CONNECT_NOT_ALLOWED = new ApiError('methodNotAllowed', 'CONNECT is not allowed here.', {
  headers: { Allow: '' },
});

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Answers without the handler: a request, or a connection on which what came is none. */
type Refuse = {
  request: (response: ServerResponse, error: ApiError) => void;
  connection: (socket: Duplex, error: ApiError) => void;
};

type ClientError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

type ClientErrorOptions = { error: ClientError; socket: Socket; connections: Connections; refuse: Refuse };

/**
 * What Node.js cannot parse never reaches the app; it is answered here, with an Error like everything else. The requests
 * before it are answered first, and a request that was answered already is not answered again.
 */
const answerClientError = ({ error, socket, connections, refuse }: ClientErrorOptions): void => {
  const answer = clientErrorAnswer(error);
  const { current, last, hasBodyLeft } = connections.find(socket) ?? {};
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (hasBodyLeft) endInStages(socket);
  else if (last === undefined || last.req.complete)
    connections.enqueue(socket, () => refuse.connection(socket, answer));
  else if (last !== current) connections.replaceLast(socket, () => refuse.connection(socket, answer));
  // A client that ended its side amid a body has most likely gone away; the log then says that the request was aborted.
  else if (error.code === 'HPE_INVALID_EOF_STATE') refuse.connection(socket, answer);
  else if (!last.headersSent) refuse.request(last, answer);
  else connections.enqueue(socket, () => endInStages(socket));
};

const clientErrorAnswer = ({ code, rawPacket, bytesParsed = 0 }: ClientError): ApiError => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return REQUEST_TOO_SLOW;
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return REQUEST_NOT_HTTP;
  const text = rawPacket.toString('latin1');
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\n', 1)[0] ?? '';
  const [, method] = /^([\w!#$%&'*+.^`|~-]{1,64}) \S+ HTTP\/1\.[01]\r?$/.exec(line) ?? [];
  return method === undefined || method !== method.toUpperCase() ? REQUEST_NOT_HTTP : methodUnknown(method);
};

/** Node.js parses the methods that it knows only, and so not the path that an unknown one was meant for. */
const methodUnknown = (method: string) =>
  new ApiError('methodNotAllowed', `${method} is not a method of this service; use ${METHODS}.`, {
    headers: { Allow: METHODS },
  });
