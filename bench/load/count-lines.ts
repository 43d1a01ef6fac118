const LINE_FEED = 10;

export type Counted = { lines: number; bytes: number };

/** Reads a stream to its end. */
export const countLines = async (stream: AsyncIterable<Buffer>): Promise<Counted> => {
  const counted = { lines: 0, bytes: 0 };
  for await (const chunk of stream) {
    counted.bytes += chunk.length;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) counted.lines += 1;
  }
  return counted;
};
