const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/** @returns the number of lines that end in a text, each with CR, LF or CRLF */
export const countLineEnds = (text: string): number => {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isEnd = code === LINE_FEED ? text.charCodeAt(index - 1) !== CARRIAGE_RETURN : code === CARRIAGE_RETURN;
    if (isEnd) count += 1;
  }
  return count;
};

/** Counts the lines of a text that comes in pieces. A CRLF may be split between two of them. */
export const createLineCounter = () => {
  let count = 0;
  let endsWithReturn = false;
  return {
    count: (): number => count,
    add: (piece: string): void => {
      if (piece === '') return;
      count += countLineEnds(piece) - Number(endsWithReturn && piece.startsWith('\n'));
      endsWithReturn = piece.endsWith('\r');
    },
  };
};
