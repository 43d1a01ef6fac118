import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { clientDisconnected, resumeReading } from './gather-body.ts';

/** How many pieces, of at most 4 KiB, to read ahead. Not a number of bytes, because a piece can be as small as one. */
const MAX_AHEAD = 16;

type StreamOptions = {
  /** How long the client may pause between bytes, in ms. Does not include time during which the service does not read. */
  pauseTimeout: number;
  /** Makes the iterator throw the signal's reason. */
  signal: AbortSignal;
};

/**
 * Reads the raw body of a request piece by piece, with backpressure and without a timeout as a whole. (Node's own iterator
 * never sets the request flowing, so connections.ts would treat it as unread.)
 * @throws {ApiError} 1000 if the client disconnects, 1203 if it pauses too long; the signal's reason
 */
export const streamBody = (
  request: Request,
  response: Response,
  { pauseTimeout, signal }: StreamOptions,
): AsyncIterableIterator<Buffer> => {
  const body = new Readable({
    objectMode: true,
    highWaterMark: MAX_AHEAD,
    read: () => {
      if (request.isPaused()) resumeReading(request);
    },
    destroy: (error, done) => {
      // Holds the connection, so that Node.js does not parse what follows.
      if (!request.readableEnded) request.pause();
      request.off('data', onData).off('end', onEnd);
      response.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
      done(error);
    },
  });
  const onData = (piece: Buffer) => {
    if (!body.push(piece)) request.pause();
  };
  const onEnd = () => body.push(null);
  const fail = (error: unknown) => void body.destroy(error as Error);
  const onClose = () => fail(clientDisconnected());
  const onAbort = () => fail(signal.reason);

  request.on('data', onData).on('end', onEnd);
  response.on('close', onClose);
  signal.addEventListener('abort', onAbort);
  // The iterator throws it. Without a listener, an error before or after the iteration would crash the process.
  body.on('error', () => {});
  if (response.destroyed) onClose();
  if (signal.aborted) onAbort();
  response.locals.failBody = fail;

  const pieces: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      let isOver = false;
      const onTimeout = () =>
        isOver || fail(new ApiError(commonErrors.requestTooSlow, 'The client paused for too long.'));
      // Handles data that arrived while the process was busy first.
      const timer = setTimeout(() => setImmediate(onTimeout), pauseTimeout);
      try {
        return await pieces.next();
      } finally {
        isOver = true;
        clearTimeout(timer);
      }
    },
    // Not `pieces.return`, which returns only after what it awaits, here the client.
    return: async () => {
      body.destroy();
      return { done: true, value: undefined };
    },
  };
};
