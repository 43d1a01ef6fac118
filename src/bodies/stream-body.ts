import { Readable } from 'node:stream';
import type { Request } from 'express';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { resumeReading } from './gather-body.ts';

/**
 * How much to read ahead, in bytes. It is large because Node.js notices that a client has disconnected only after reading
 * everything that the client sent.
 */
const MAX_AHEAD = 8_388_608;
/** The memory that a piece takes in addition to its bytes, in bytes. A piece can be a single byte. */
const PIECE_OVERHEAD = 256;

type StreamOptions = {
  /** How long the client may pause between bytes, in ms. Does not include time during which the service does not read. */
  pauseTimeout: number;
  /** Makes the iterator throw the signal's reason. Must be aborted when the client disconnects. */
  signal: AbortSignal;
};

const sizeOf = (piece: Buffer) => piece.length + PIECE_OVERHEAD;

/**
 * Reads the raw body of a request piece by piece, with backpressure and without an overall timeout. (Node's own iterator
 * never sets the request flowing, so connections.ts would treat it as unread.)
 * @throws {ApiError} 1203 if the client pauses too long; the signal's reason
 */
export const streamBody = (
  request: Request,
  { pauseTimeout, signal }: StreamOptions,
): AsyncIterableIterator<Buffer> => {
  let ahead = 0;
  const body = new Readable({
    objectMode: true,
    read: () => {},
    destroy: (error, done) => {
      // Holds the connection, so that Node.js does not parse what follows.
      if (!request.readableEnded) request.pause();
      request.off('data', onData).off('end', onEnd);
      signal.removeEventListener('abort', onAbort);
      done(error);
    },
  });
  const onData = (piece: Buffer) => {
    ahead += sizeOf(piece);
    body.push(piece);
    if (ahead > MAX_AHEAD) request.pause();
  };
  const onEnd = () => body.push(null);
  const fail = (error: unknown) => void body.destroy(error as Error);
  const onAbort = () => fail(signal.reason);

  request.on('data', onData).on('end', onEnd);
  signal.addEventListener('abort', onAbort);
  // The iterator throws it. Without a listener, an error before or after the iteration would crash the process.
  body.on('error', () => {});
  if (signal.aborted) onAbort();
  const pieces: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      let isOver = false;
      const onTimeout = () =>
        isOver || fail(new ApiError(commonErrors.requestTooSlow, 'The client paused for too long.'));
      // First handles data that arrived while the process was busy.
      const timer = setTimeout(() => setImmediate(onTimeout), pauseTimeout);
      try {
        const next = await pieces.next();
        if (next.done) return next;
        ahead -= sizeOf(next.value);
        if (ahead <= MAX_AHEAD && request.isPaused()) resumeReading(request);
        return next;
      } finally {
        isOver = true;
        clearTimeout(timer);
      }
    },
    // Not `pieces.return`, which waits for the generator's pending await, here for the client.
    return: async () => {
      body.destroy();
      return { done: true, value: undefined };
    },
  };
};
