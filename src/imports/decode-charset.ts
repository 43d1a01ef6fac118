import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';

/** The encodings that spreadsheets write (https://encoding.spec.whatwg.org); the first is the default. */
export const CHARSETS = ['utf-8', 'windows-1252', 'utf-16le'] as const;
export type Charset = (typeof CHARSETS)[number];

/** Converts a file to UTF-8, which the readers take. UTF-8 is left as it is. @throws {ApiError} 1000 */
export const decodeCharset = (pieces: AsyncIterable<Buffer>, charset: Charset = 'utf-8'): AsyncIterable<Buffer> =>
  charset === 'utf-8' ? pieces : toUtf8(pieces, charset);

async function* toUtf8(pieces: AsyncIterable<Buffer>, charset: Charset): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(charset, { fatal: true });
  let lines = 0;
  /** Without bytes, decodes the end of the file. */
  const decode = (bytes?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(bytes, { stream: bytes !== undefined }));
    } catch {
      throw new ApiError(commonErrors.bodyNotJson, `The file is not ${charset}, somewhere after line ${lines}.`);
    }
  };
  for await (const piece of pieces) {
    const bytes = decode(piece);
    for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', end + 1)) lines += 1;
    yield bytes;
  }
  yield decode();
}
