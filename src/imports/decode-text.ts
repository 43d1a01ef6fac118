import { isAscii } from 'node:buffer';
import { US_ASCII } from '../bodies/media-type.ts';
import { StoreError } from '../errors.ts';

const compressedWith = (program: string) =>
  `The file is compressed with ${program}. Decompress it, or compress it with gzip instead.`;

/** How files begin that are no text, and what to do. */
const NO_TEXT: [start: string, message: string][] = [
  [
    '\x1f\x8b',
    'The file is compressed with gzip. Send Content-Encoding: gzip; on the command line, let its name end with .gz, or decompress it first.',
  ],
  ['PK\x03\x04', 'The file is a workbook or an archive (.xlsx, .ods, .zip). Save it as CSV, or unpack it first.'],
  ['\xd0\xcf\x11\xe0', 'The file is a workbook (.xls). Save it as CSV first.'],
  ['PAR1\x15', 'The file is in the format Parquet. Save it as CSV or NDJSON first.'],
  ['\x28\xb5\x2f\xfd', compressedWith('zstd')],
  ['\xfd7zXZ\0', compressedWith('xz')],
  ['BZh91AY&SY', compressedWith('bzip2')],
];
/** Of a text with NUL characters in its first line. */
export const NUL_CHARACTERS =
  'The first line has NUL characters, as in UTF-16. If the file is in utf-16le or utf-16be, state this encoding.';
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/**
 * Creates a function that converts the bytes of a file to text, piece by piece. Drops a leading byte order mark.
 * @param stated see `encodingOf`. Unless it is UTF-8, a byte order mark outranks it (https://encoding.spec.whatwg.org/#decode)
 */
export const createTextDecoder = async (stated = 'utf-8') => {
  // That of Node.js reads wrong characters in euc-kr and big5 (record 0066). Loaded here, since few processes import.
  const { TextDecoder, getBOMEncoding } = await import('@exodus/bytes/encoding.js');
  let encoding = stated;
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let start: Buffer = Buffer.alloc(0);
  let lines = 0;
  let last = Number.NaN;

  const describeWrong = (bytes: Buffer | undefined): string => {
    // All is right up to the first character that is not ASCII.
    const [right = ''] = new TextDecoder(encoding).decode(bytes).split(/[\u0080-\uffff]/, 1);
    const line = lines + countLineEnds(right, last);
    const where = line > 0 ? `, somewhere after line ${line}` : '';
    return `The file is not ${encoding}${where}. If it is in another encoding, such as windows-1252 or utf-16le, state it, or convert the file to UTF-8.`;
  };

  /**
   * @param piece undefined at the end of the file
   * @throws {StoreError} 1000 if the bytes are not in that encoding
   */
  return (piece?: Buffer): string => {
    let bytes = piece;
    if (decoder === undefined) {
      bytes = start = Buffer.concat([start, ...(piece ? [piece] : [])]);
      // A byte order mark has at most 3 bytes, and may be split.
      if (piece && start.length < 3) return '';
      const [, noText] = NO_TEXT.find(([text]) => start.toString('latin1', 0, text.length) === text) ?? [];
      if (noText) throw new StoreError('bodyNotJson', noText);
      if (stated !== 'utf-8') encoding = getBOMEncoding(start) ?? stated;
      decoder = new TextDecoder(encoding, { fatal: true });
    }
    let text: string;
    try {
      if (encoding === US_ASCII && bytes && !isAscii(bytes)) throw new TypeError('Not ASCII');
      text = decoder.decode(bytes, { stream: piece !== undefined });
    } catch {
      throw new StoreError('bodyNotJson', describeWrong(bytes));
    }
    lines += countLineEnds(text, last);
    if (text !== '') last = text.charCodeAt(text.length - 1);
    return text;
  };
};

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
