/** Smaller pieces, in bytes, are copied together: on its own, each takes half a KiB. */
const SMALL_PIECE = 1024;
const BLOCK = 4096;

/** Collects the pieces in which a body arrives. */
export const createBodyPieces = () => {
  const pieces: Buffer[] = [];
  let block = Buffer.alloc(0);
  let used = 0;

  const closeBlock = () => {
    if (used > 0) pieces.push(block.subarray(0, used));
    block = Buffer.alloc(0);
    used = 0;
  };

  return {
    add: (piece: Buffer): void => {
      if (piece.length >= SMALL_PIECE || (pieces.length === 0 && used === 0)) {
        closeBlock();
        pieces.push(piece);
        return;
      }
      if (used + piece.length > block.length) {
        closeBlock();
        block = Buffer.alloc(BLOCK);
      }
      used += piece.copy(block, used);
    },
    join: (): Buffer => {
      closeBlock();
      const [first] = pieces;
      return pieces.length === 1 && first ? first : Buffer.concat(pieces);
    },
  };
};
