import { createByteBuffer } from '../bodies/byte-buffer.ts';

/** The maximum number of bytes of a file to examine. */
const MAX_HEAD = 16_384;
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/** Gathers the beginning of a file up to the end of its first line that is not empty, or up to MAX_HEAD. */
export const createCsvHead = () => {
  const head = createByteBuffer(Number.POSITIVE_INFINITY);
  let line = 1;
  let last: number | undefined;

  /** Counts the empty lines instead of keeping them, because a file can begin with any number of them. */
  const skipEmptyLines = (chunk: Buffer): Buffer => {
    let start = 0;
    for (; start < chunk.length; start++) {
      const byte = chunk[start];
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) break;
      if (byte === CARRIAGE_RETURN || last !== CARRIAGE_RETURN) line += 1;
      last = byte;
    }
    return chunk.subarray(start);
  };

  return {
    /** @returns whether the head is complete */
    add: (chunk: Buffer): boolean => {
      const bytes = head.size() === 0 ? skipEmptyLines(chunk) : chunk;
      if (bytes.length === 0) return false;
      const isAfterReturn = head.size() > 0 && last === CARRIAGE_RETURN;
      head.add(bytes);
      last = bytes.at(-1);
      const end = bytes.indexOf(CARRIAGE_RETURN);
      // A CR at the end may be half of a CRLF.
      const hasEnd = bytes.includes(LINE_FEED) || (end !== -1 && end < bytes.length - 1) || isAfterReturn;
      return hasEnd || head.size() >= MAX_HEAD;
    },
    /** @returns the bytes from the first line that is not empty, and the number of that line */
    take: (): { bytes: Buffer; line: number } => ({ bytes: head.take() as Buffer, line }),
  };
};
