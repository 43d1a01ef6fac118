import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError } from './api-error.ts';

/** Longer than the 60 s for which load balancers keep a connection, so that they close first and lose no request; in ms. */
const KEEP_ALIVE_TIMEOUT = 75_000;
/** How often slow requests are looked for, in ms. */
const TIMEOUT_CHECK_INTERVAL = 1000;
/** How often connections that went idle are closed while the server stops, in ms. */
const IDLE_CLOSE_INTERVAL = 50;

type HttpServerOptions = {
  handler: RequestListener;
  /** How long a client may take to send a request, in ms. */
  requestTimeout: number;
};

/** The HTTP server: listens, and stops without losing a request. */
export const createHttpServer = ({ handler, requestTimeout }: HttpServerOptions) => {
  const server = createServer({
    requestTimeout,
    headersTimeout: requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL,
  });
  server.on('request', handler);
  // Not the default, which invites the body before the token is checked; whoever reads the body invites it.
  server.on('checkContinue', handler);
  server.on('clientError', answerClientError);
  return {
    /** @returns the port */
    listen: (host: string, port: number) =>
      new Promise<number>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
      }),
    /** Takes no more connections and resolves when the requests under way are answered, or cut off after `timeout` ms. */
    close: (timeout: number) => closeServer(server, timeout),
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

/** What Node.js cannot parse never reaches the app; it is answered here, with an Error like all else. */
const answerClientError = (error: NodeJS.ErrnoException, socket: Socket) => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new ApiError('requestTooSlow', 'The request took too long to arrive.')
      : new ApiError('requestNotHttp', 'The request is not valid HTTP/1.1, or its header is too large.');
  const body = JSON.stringify(answer);
  socket.end(
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
};
