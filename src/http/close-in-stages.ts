import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Node.js reads what is left of a body to keep the connection for the next request; more than this, in bytes, it shall not. */
const MAX_DISCARDED = 65_536;
/** How long a client has to take its answer before the connection is cut, in ms. */
const LINGER_TIME = 1000;

/**
 * Connections that are given that time at once. What was read of each and not parsed takes up to 64 KiB; when a flood of
 * requests is refused, the oldest are cut off sooner.
 */
const MAX_LINGERING = 256;

const lingering = new Set<Duplex>();

/** Makes a response, whose header is not sent yet, the last on its connection. */
export const closeAfter = (response: ServerResponse): void => {
  const { socket } = response.req;
  response.setHeader('Connection', 'close');
  // What Node.js calls when an answer with `Connection: close` is sent.
  socket.destroySoon = () => endInStages(socket);
};

/**
 * Sends the last bytes of a connection and closes it in stages (RFC 9112 §9.6): closed at once, it would be reset, and
 * a client that is still sending would lose its answer. One that does not close its own end is cut off.
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

/** Whether the body was given up, or so much of it was not read that the connection is better closed than read to its end. */
export const isLeftUnread = (request: IncomingMessage): boolean => {
  const { 'transfer-encoding': chunked, 'content-length': length = 0 } = request.headers;
  return !request.complete && (request.isPaused() || chunked !== undefined || Number(length) > MAX_DISCARDED);
};
