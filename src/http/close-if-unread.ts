import type { Request, Response } from 'express';

/**
 * Node.js discards the rest of a body to keep the connection for the next request. If the rest may exceed this, in
 * bytes, the connection is closed instead.
 */
const MAX_DISCARDED = 65_536;

/**
 * Makes a response the last on its connection if reading of the body was stopped, or its rest may exceed MAX_DISCARDED.
 * The header must not be sent yet.
 */
export const closeIfUnread = (request: Request, response: Response): void => {
  const { 'transfer-encoding': chunked, 'content-length': length = 0 } = request.headers;
  const isLong = chunked !== undefined || Number(length) > MAX_DISCARDED;
  if (!request.complete && (request.isPaused() || isLong)) response.setHeader('Connection', 'close');
};
