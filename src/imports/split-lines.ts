const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NO_BYTES = Buffer.alloc(0);
const FIRST_CAPACITY = 4096;
/** The size up to which the buffer is reused for the next line. */
const KEPT_CAPACITY = 65_536;

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

/** `bytes`: without the line ending; undefined if over the limit. Valid until the next line is read. */
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
  const rest = createRest(maxLineBytes + 1);
  let line = 0;
  const toLine = (bytes: Buffer | undefined): Line => {
    line += 1;
    const text = bytes?.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
    return { line, bytes: text === undefined || text.length > maxLineBytes ? undefined : text };
  };
  const linesIn = function* (piece: Buffer): Generator<Line> {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      const part = end === start ? NO_BYTES : piece.subarray(start, end);
      yield toLine(rest.isEmpty() ? part : rest.takeWith(part));
      start = end + 1;
    }
    rest.add(piece.subarray(start));
  };
  for await (const piece of withoutByteOrderMark(chunks)) yield linesIn(piece);
  if (!rest.isEmpty()) yield [toLine(rest.takeWith(NO_BYTES))];
}

/** Buffers the beginning of a line, up to `limit` bytes. Copies it, because a piece of one byte can keep 64 KiB alive. */
const createRest = (limit: number) => {
  let buffer = NO_BYTES;
  let length = 0;

  const add = (part: Buffer) => {
    length += part.length;
    if (length > limit) return;
    if (length > buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(limit, Math.max(FIRST_CAPACITY, 2 * length)));
      buffer.copy(grown, 0, 0, length - part.length);
      buffer = grown;
    }
    part.copy(buffer, length - part.length);
  };

  return {
    add,
    isEmpty: (): boolean => length === 0,
    /** Adds the last part. @returns the line; undefined if it exceeds the limit */
    takeWith: (part: Buffer): Buffer | undefined => {
      add(part);
      const line = length > limit ? undefined : buffer.subarray(0, length);
      if (length > KEPT_CAPACITY) buffer = NO_BYTES;
      length = 0;
      return line;
    },
  };
};
