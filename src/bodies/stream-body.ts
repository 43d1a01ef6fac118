import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';

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

/**
 * Requests whose bodies are streamed, and what makes their readers throw an error. They stay here after the reader has
 * stopped: until the handler has responded, neither the request timeout nor invalid data may replace its response.
 */
const streamed = new WeakMap<IncomingMessage, (error: unknown) => void>();

/** Whether the body is streamed. The timeout for receiving a whole request then does not apply. */
export const isStreamed = (request: IncomingMessage): boolean => streamed.has(request);

/**
 * Makes the reader of a streamed body throw `error`, because Node.js cannot parse the rest. The handler responds, as only it
 * knows what it did with the first part. The reader may already have stopped.
 * @returns false if the body is not streamed
 */
export const failStreamedBody = (request: IncomingMessage, error: unknown): boolean => {
  const fail = streamed.get(request);
  fail?.(error);
  return fail !== undefined;
};

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
  const body = readAhead(request, response, signal);
  streamed.set(request, body.fail);
  const pieces = takePieces(body, pauseTimeout);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => pieces.next(),
    return: () => {
      // A generator returns only after what it awaits, here the client.
      body.stop();
      return pieces.return(undefined);
    },
  };
};

async function* takePieces(
  body: ReturnType<typeof readAhead>,
  pauseTimeout: number,
): AsyncGenerator<Buffer, undefined> {
  try {
    for (;;) {
      body.throwIfFailed();
      for (const piece of body.take()) {
        body.throwIfFailed();
        yield piece;
      }
      if (body.hasEnded()) return undefined;
      await body.waitForMore(pauseTimeout);
    }
  } finally {
    body.stop();
  }
}

const readAhead = (request: Request, response: Response, signal: AbortSignal) => {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let isComplete = false;
  let isStopped = false;
  let failure: unknown;
  let wake = () => {};
  const onData = (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= MAX_AHEAD_BYTES || pieces.length >= MAX_AHEAD_PIECES) request.pause();
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
  request.on('data', onData).on('end', onEnd);
  response.on('close', onClose);
  signal.addEventListener('abort', onAbort);
  if (response.destroyed) onClose();
  if (signal.aborted) onAbort();

  return {
    /** @returns the pieces read so far. Resumes reading. */
    take: (): Buffer[] => {
      const taken = pieces;
      pieces = [];
      bytes = 0;
      if (request.isPaused()) resume(request);
      return taken;
    },
    fail,
    hasEnded: (): boolean => isStopped || (isComplete && pieces.length === 0),
    throwIfFailed: (): void => {
      if (failure !== undefined) throw failure;
    },
    /** Waits for a piece, the end or a failure. After `timeout` ms, fails with a BodyStalledError. */
    waitForMore: async (timeout: number): Promise<void> => {
      // The body may have failed while the last piece was used.
      if (pieces.length > 0 || failure !== undefined) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      let isOver = false;
      const onTimeout = () => isOver || fail(new BodyStalledError('The client paused for too long.'));
      // Handles data that arrived while the process was busy first.
      const timer = setTimeout(() => setImmediate(onTimeout), timeout);
      await promise;
      isOver = true;
      clearTimeout(timer);
    },
    /** Stops reading. A pending `waitForMore` resolves. */
    stop: (): void => {
      isStopped = true;
      wake();
      if (!isComplete) request.pause();
      request.off('data', onData).off('end', onEnd);
      response.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
    },
  };
};

const resume = (request: Request) => {
  request.resume();
  // Without this, the socket stays paused: Node.js assumes that it is already reading.
  request.socket.resume();
};
