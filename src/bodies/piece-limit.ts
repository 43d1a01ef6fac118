import { StoreError } from '../errors.ts';

const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [10, 13, 32];
/** A one-byte piece costs as much CPU time as a large one. After FREE_PIECES, pieces must average MIN_AVERAGE_PIECE bytes. */
export const FREE_PIECES = 1000;
export const MIN_AVERAGE_PIECE = 64;
/** A client may write each row as a piece, and its line end as another. */
const PIECES_PER_LINE = 2;
/** In bytes that are not blank. No row is shorter. */
const MIN_LINE = 2;

/**
 * Limits the pieces of a streamed body: FREE_PIECES, and one for each MIN_AVERAGE_PIECE bytes.
 * @param hasLines allows PIECES_PER_LINE more for each line that ends in a small piece, however short the rows are
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

  return {
    /** @returns whether the pieces so far are not too many */
    add: (piece: Buffer): boolean => {
      pieces += 1;
      allowed += piece.length / MIN_AVERAGE_PIECE;
      if (hasLines && piece.length < MIN_AVERAGE_PIECE) countLines(piece);
      else lineLength = piece.length;
      return pieces <= allowed;
    },
  };
};

export const tooManyPieces = (): StoreError =>
  new StoreError(
    'bodyTooLarge',
    `The body arrives in too many pieces smaller than ${MIN_AVERAGE_PIECE} bytes. Send larger ones, for example by buffering what you write.`,
  );
