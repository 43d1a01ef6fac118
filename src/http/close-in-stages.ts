import type { Request } from 'express';

/** Node.js reads what is left of a body to keep the connection for the next request; more than this, in bytes, it shall not. */
const MAX_DISCARDED = 65_536;
/** How long a client has to take its answer before the connection is cut, in ms. */
const LINGER_TIME = 1000;

/**
 * Whether so much of the body was not read that the connection is better closed. It is then closed in stages
 * (RFC 9112 §9.6): closed at once, it would be reset, and a client that is still sending would lose its answer.
 */
export const closeInStagesIfUnread = (request: Request): boolean => {
  const { 'transfer-encoding': chunked, 'content-length': length = 0 } = request.headers;
  if (request.complete || (chunked === undefined && Number(length) <= MAX_DISCARDED)) return false;
  const { socket } = request;
  // What Node.js calls when an answer with `Connection: close` is sent.
  socket.destroySoon = () => {
    socket.pause();
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_TIME).unref();
  };
  return true;
};
