import { StoreError } from '../errors.ts';
import { createLineCounter } from './count-lines.ts';

/** The encodings that spreadsheets write (https://encoding.spec.whatwg.org); the first is the default. */
export const CHARSETS = ['utf-8', 'windows-1252', 'utf-16le'] as const;
export type Charset = (typeof CHARSETS)[number];

/** Converts a file to UTF-8, which the readers take. UTF-8 is left as it is. @throws {StoreError} 1000 */
export const decodeCharset = (pieces: AsyncIterable<Buffer>, charset: Charset = 'utf-8'): AsyncIterable<Buffer> =>
  charset === 'utf-8' ? pieces : toUtf8(pieces, charset);

async function* toUtf8(pieces: AsyncIterable<Buffer>, charset: Charset): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(charset, { fatal: true });
  const lines = createLineCounter();
  /** Without bytes, decodes the end of the file. */
  const decode = (bytes?: Buffer) => {
    try {
      const text = decoder.decode(bytes, { stream: bytes !== undefined });
      lines.add(text);
      return Buffer.from(text);
    } catch {
      throw new StoreError('bodyNotJson', `The file is not ${charset}, somewhere after line ${lines.count()}.`);
    }
  };
  for await (const piece of pieces) yield decode(piece);
  yield decode();
}
