import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Node.js discards the rest of a body to keep the connection for the next request. If the rest may exceed this, in
 * bytes, the connection is closed instead.
 */
const MAX_DISCARDED = 65_536;
/** How long a client has to read its response before the connection is destroyed, in ms. */
const LINGER_TIME = 1000;

/**
 * How many connections may linger. Each holds up to 64 KiB that is read but not parsed. During a flood of rejected
 * requests, the oldest are destroyed sooner.
 */
const MAX_LINGERING = 256;

const lingering = new Set<Duplex>();

/** Makes a response the last on its connection. Its header must not be sent yet. */
export const closeAfter = (response: ServerResponse): void => {
  const { socket } = response.req;
  response.setHeader('Connection', 'close');
  // Node.js calls this once a response with `Connection: close` is sent.
  socket.destroySoon = () => endInStages(socket);
};

/**
 * Sends the last bytes of a connection and closes it in stages (RFC 9112 §9.6). An immediate close would reset the
 * connection, and a client that is still sending would lose the response. If the client does not close its side, the
 * connection is destroyed after LINGER_TIME.
 */
export const endInStages = (socket: Duplex, bytes = ''): void => {
  socket.pause();
  if (socket.writable) socket.end(bytes);
  setTimeout(() => socket.destroy(), LINGER_TIME).unref();
  lingering.add(socket);
  socket.once('close', () => lingering.delete(socket));
  const [oldest] = lingering;
  if (lingering.size > MAX_LINGERING) oldest?.destroy();
};

/** Whether reading of the body was stopped, or its unread rest may exceed MAX_DISCARDED. */
export const isLeftUnread = (request: IncomingMessage): boolean => {
  const { 'transfer-encoding': chunked, 'content-length': length = 0 } = request.headers;
  return !request.complete && (request.isPaused() || chunked !== undefined || Number(length) > MAX_DISCARDED);
};
