import type { Request } from 'express';
import { StoreError } from '../errors.ts';

/**
 * How much to read ahead, in bytes. It is large because Node.js notices that a client has disconnected only after reading
 * everything that the client sent.
 */
const MAX_AHEAD = 8_388_608;
/** The memory that a piece takes in addition to its bytes, in bytes. A piece can be a single byte. */
const PIECE_OVERHEAD = 256;
/** How much to hand on at once, in bytes. Small pieces are merged, because each has a cost in all that reads the body. */
const MAX_MERGED = 65_536;
/** A one-byte piece costs as much CPU time as a large one. After FREE_PIECES, pieces must average MIN_AVERAGE_PIECE bytes. */
export const FREE_PIECES = 1000;
export const MIN_AVERAGE_PIECE = 64;
/** A client may write each row as a piece, and its line end as another. */
const PIECES_PER_LINE = 2;
/** In bytes that are not blank. No row is shorter. */
const MIN_LINE = 2;

const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [10, 13, 32];

type StreamOptions = {
  /** Makes the iterator throw the signal's reason. Must be aborted when the client disconnects. */
  signal: AbortSignal;
  /** A compressed body has no rows that a client could write one by one. */
  isCompressed?: boolean;
};

/**
 * Reads the raw body of a request, with backpressure and without an overall timeout. Hands on all that has arrived, up to
 * MAX_MERGED. (Node's own iterator hands on each piece, and never sets the request flowing, so connections.ts would treat it as
 * unread.)
 * @throws {StoreError} 1002 if the body comes in too many small pieces; the signal's reason
 */
export const streamBody = (
  request: Request,
  { signal, isCompressed = false }: StreamOptions,
): AsyncIterableIterator<Buffer> => {
  const isAllowed = createPieceLimit({ hasLines: !isCompressed });
  let pieces: Buffer[] = [];
  let ahead = 0;
  let isClosed = false;
  let failure: { error: unknown } | undefined;
  /** Ends the wait for the next piece. */
  let wake = () => {};

  const close = () => {
    if (isClosed) return;
    isClosed = true;
    pieces = [];
    // Holds the connection, so that Node.js does not parse what follows.
    if (!request.readableEnded) request.pause();
    request.off('data', onData).off('end', onEnd);
    signal.removeEventListener('abort', onAbort);
    wake();
  };
  const fail = (error: unknown) => {
    if (!isClosed) failure = { error };
    close();
  };
  const onData = (piece: Buffer) => {
    if (!isAllowed(piece)) return fail(tooManyPieces());
    pieces.push(piece);
    ahead += piece.length + PIECE_OVERHEAD;
    if (ahead > MAX_AHEAD) request.pause();
    wake();
  };
  const onEnd = () => wake();
  const onAbort = () => fail(signal.reason);

  const waitForPiece = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  /** Takes the first piece, and those behind it that fit in MAX_MERGED with it. */
  const takePieces = (): Buffer | undefined => {
    let count = 0;
    let size = 0;
    for (const { length } of pieces) {
      if (count > 0 && size + length > MAX_MERGED) break;
      count += 1;
      size += length;
    }
    const taken = pieces.splice(0, count);
    ahead -= size + count * PIECE_OVERHEAD;
    return count > 1 ? Buffer.concat(taken, size) : taken[0];
  };

  request.on('data', onData).on('end', onEnd);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      if (pieces.length === 0 && !request.readableEnded && !isClosed) await waitForPiece();
      if (failure !== undefined) throw failure.error;
      const piece = takePieces();
      if (piece === undefined) {
        close();
        return { done: true, value: undefined };
      }
      if (ahead <= MAX_AHEAD && request.isPaused()) {
        request.resume();
        // Node.js assumes that the socket is already flowing, so it would stay paused.
        request.socket.resume();
      }
      return { done: false, value: piece };
    },
    // Does not wait for a pending `next`, as that of a generator would: it waits for the client.
    return: async () => {
      close();
      return { done: true, value: undefined };
    },
  };
};

/**
 * Limits the pieces of a streamed body: FREE_PIECES, and one for each MIN_AVERAGE_PIECE bytes.
 * @param hasLines allows PIECES_PER_LINE more for each line that ends in a small piece, however short the rows are
 * @returns a function that counts a piece, and returns false once they are too many
 */
export const createPieceLimit = ({ hasLines }: { hasLines: boolean }) => {
  let pieces = 0;
  let allowed = FREE_PIECES;
  let lineLength = 0;

  const countLines = (piece: Buffer) => {
    for (const byte of piece) {
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        if (lineLength >= MIN_LINE) allowed += PIECES_PER_LINE;
        lineLength = 0;
      } else if (byte > SPACE) lineLength += 1;
    }
  };

  return (piece: Buffer): boolean => {
    pieces += 1;
    allowed += piece.length / MIN_AVERAGE_PIECE;
    if (hasLines && piece.length < MIN_AVERAGE_PIECE) countLines(piece);
    else lineLength = piece.length;
    return pieces <= allowed;
  };
};

export const tooManyPieces = (): StoreError =>
  new StoreError(
    'bodyTooLarge',
    `The body arrives in too many pieces smaller than ${MIN_AVERAGE_PIECE} bytes. Send larger ones, for example by buffering what you write.`,
  );
