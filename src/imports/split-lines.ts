import { createByteBuffer } from '../bodies/byte-buffer.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NO_BYTES = Buffer.alloc(0);

/** Removes a leading UTF-8 byte order mark. */
export async function* withoutByteOrderMark(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { length } = BYTE_ORDER_MARK;
  let first = NO_BYTES;
  let isFirst = true;
  for await (const piece of pieces) {
    if (!isFirst) yield piece;
    else {
      first = Buffer.concat([first, piece]);
      if (first.length < length) continue;
      isFirst = false;
      yield first.subarray(0, length).equals(BYTE_ORDER_MARK) ? first.subarray(length) : first;
    }
  }
  if (isFirst && first.length > 0) yield first;
}

/** `bytes`: without the line ending; undefined if over the limit. */
export type Line = { line: number; bytes: Buffer | undefined };

/**
 * Splits bytes into lines at LF or CRLF. Skips a leading byte order mark. Discards bytes of a line over the limit.
 * @returns the lines that end in each piece. Read all of them before the next piece. (An `await` for each line would take 7 %
 * of the CPU time of the process that imports.)
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  { maxLineBytes }: { maxLineBytes: number },
): AsyncGenerator<Iterable<Line>> {
  // One more byte for the CR of a CRLF.
  const rest = createByteBuffer(maxLineBytes + 1);
  let line = 0;
  const toLine = (bytes: Buffer | undefined): Line => {
    line += 1;
    const text = bytes?.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
    return { line, bytes: text === undefined || text.length > maxLineBytes ? undefined : text };
  };
  const linesIn = function* (piece: Buffer): Generator<Line> {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      rest.add(end === start ? NO_BYTES : piece.subarray(start, end));
      yield toLine(rest.take());
      start = end + 1;
    }
    rest.add(piece.subarray(start));
  };
  for await (const piece of withoutByteOrderMark(chunks)) yield linesIn(piece);
  if (rest.size() > 0) yield [toLine(rest.take())];
}
