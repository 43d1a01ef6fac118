import { isAscii } from 'node:buffer';
import { US_ASCII } from '../bodies/media-type.ts';
import { StoreError } from '../errors.ts';

/** How files begin that are no text, and what to do. */
const NO_TEXT: [start: string, message: string][] = [
  [
    '\x1f\x8b',
    'The file is compressed with gzip. Send Content-Encoding: gzip; on the command line, let its name end with .gz, or decompress it first.',
  ],
  ['PK\x03\x04', 'The file is a workbook or an archive (.xlsx, .ods, .zip). Save it as CSV, or unpack it first.'],
];
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/**
 * Converts the bytes of a file to text. Drops a leading byte order mark.
 * @param stated see `encodingOf`. Unless it is UTF-8, a byte order mark outranks it (https://encoding.spec.whatwg.org/#decode)
 * @throws {StoreError} 1000 if the bytes are not in that encoding
 */
export async function* decodeText(pieces: AsyncIterable<Buffer>, stated = 'utf-8'): AsyncGenerator<string> {
  // That of Node.js reads wrong characters in euc-kr and big5 (record 0066). Loaded here, since few processes import.
  const { TextDecoder, getBOMEncoding } = await import('@exodus/bytes/encoding.js');
  let encoding = stated;
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let lines = 0;
  let last = Number.NaN;
  /** Without bytes, decodes the end of the file. */
  const decode = (bytes?: Buffer): string => {
    if (decoder === undefined) {
      if (bytes && stated !== 'utf-8') encoding = getBOMEncoding(bytes) ?? stated;
      decoder = new TextDecoder(encoding, { fatal: true });
    }
    try {
      if (encoding === US_ASCII && bytes && !isAscii(bytes)) throw new TypeError('Not ASCII');
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      const [, message] = NO_TEXT.find(([start]) => bytes?.toString('latin1', 0, start.length) === start) ?? [];
      if (Number.isNaN(last) && message) throw new StoreError('bodyNotJson', message);
      // All is right up to the first character that is not ASCII.
      const [start = ''] = new TextDecoder(encoding).decode(bytes).split(/[\u0080-\uffff]/, 1);
      const line = lines + countLineEnds(start, last);
      const where = line > 0 ? `, somewhere after line ${line}` : '';
      const advice = 'If it is in another encoding, such as windows-1252 or utf-16le, state it.';
      throw new StoreError('bodyNotJson', `The file is not ${encoding}${where}. ${advice}`);
    }
  };
  for await (const piece of withWholeMark(pieces)) {
    const text = decode(piece);
    lines += countLineEnds(text, last);
    if (text !== '') last = text.charCodeAt(text.length - 1);
    yield text;
  }
  yield decode();
}

/** Joins the first pieces, so that a byte order mark, of at most 3 bytes, is whole. */
async function* withWholeMark(pieces: AsyncIterable<Buffer>) {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (start) start = Buffer.concat([start, piece]);
    if (start && start.length < 3) continue;
    yield start ?? piece;
    start = undefined;
  }
  if (start) yield start;
}

/**
 * @param before the character code before the text, since a CRLF may be split
 * @returns the number of lines that end in a text, each with CR, LF or CRLF
 */
export const countLineEnds = (text: string, before = Number.NaN): number => {
  let count = 0;
  let last = before;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === CARRIAGE_RETURN || (code === LINE_FEED && last !== CARRIAGE_RETURN)) count += 1;
    last = code;
  }
  return count;
};
