import type { Request, Response } from 'express';
import { resumeReading } from './gather-body.ts';

/** The client paused its upload for too long. */
export class BodyStalledError extends Error {
  override name = 'BodyStalledError';
}

/** The client disconnected before its body was complete. */
export class BodyAbortedError extends Error {
  override name = 'BodyAbortedError';
}

/** The limits for reading ahead: bytes, and pieces, because a piece can be as small as one byte. */
const MAX_AHEAD_BYTES = 65_536;
const MAX_AHEAD_PIECES = 1000;

type StreamOptions = {
  /** How long the client may pause between bytes, in ms. Does not include time during which the service does not read. */
  pauseTimeout: number;
  /** Makes the iterator throw the signal's reason. */
  signal: AbortSignal;
};

/**
 * Reads the raw body of a request piece by piece, with backpressure and without a timeout as a whole. (Node's own iterator
 * never sets the request flowing, so connections.ts would treat it as unread.)
 * @throws {BodyStalledError} {BodyAbortedError} the signal's reason
 */
export const streamBody = (
  request: Request,
  response: Response,
  { pauseTimeout, signal }: StreamOptions,
): AsyncIterableIterator<Buffer> => {
  const ahead: Buffer[] = [];
  let bytesAhead = 0;
  let isComplete = false;
  let isStopped = false;
  let failure: unknown;
  let wake = () => {};
  const onData = (piece: Buffer) => {
    ahead.push(piece);
    bytesAhead += piece.length;
    if (bytesAhead >= MAX_AHEAD_BYTES || ahead.length >= MAX_AHEAD_PIECES) request.pause();
    wake();
  };
  const onEnd = () => {
    isComplete = true;
    wake();
  };
  const fail = (error: unknown) => {
    failure ??= error;
    // Holds the connection, so that Node.js does not parse what follows.
    request.pause();
    wake();
  };
  const onClose = () => fail(new BodyAbortedError('The client disconnected.'));
  const onAbort = () => fail(signal.reason);
  const stop = () => {
    isStopped = true;
    wake();
    if (!isComplete) request.pause();
    request.off('data', onData).off('end', onEnd);
    response.off('close', onClose);
    signal.removeEventListener('abort', onAbort);
  };

  /** Waits for a piece, the end, a failure or `stop`. */
  const waitForMore = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    let isOver = false;
    const onTimeout = () => isOver || fail(new BodyStalledError('The client paused for too long.'));
    // Handles data that arrived while the process was busy first.
    const timer = setTimeout(() => setImmediate(onTimeout), pauseTimeout);
    await promise;
    isOver = true;
    clearTimeout(timer);
  };

  const readPieces = async function* () {
    try {
      while (!isStopped) {
        if (failure !== undefined) throw failure;
        const piece = ahead.shift();
        if (piece !== undefined) {
          bytesAhead -= piece.length;
          if (ahead.length === 0 && request.isPaused()) resumeReading(request);
          yield piece;
        } else if (isComplete) return;
        else await waitForMore();
      }
    } finally {
      stop();
    }
  };

  request.on('data', onData).on('end', onEnd);
  response.on('close', onClose);
  signal.addEventListener('abort', onAbort);
  if (response.destroyed) onClose();
  if (signal.aborted) onAbort();
  response.locals.failBody = fail;
  const pieces = readPieces();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => pieces.next(),
    return: () => {
      // A generator returns only after what it awaits, here the client.
      stop();
      return pieces.return(undefined);
    },
  };
};
