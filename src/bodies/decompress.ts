import { pipeline, type Transform } from 'node:stream';
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzipSync,
  inflateSync,
} from 'node:zlib';
import type { Request } from 'express';
import { StoreError } from '../errors.ts';

/** `stream` and `atOnce` throw 1000 if the body is not valid. */
type BodyDecompressor = {
  /** Decompresses a body of any size, in bounded memory. */
  stream: (pieces: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** Decompresses a whole body now. @returns undefined if the result has more than `maxBytes` */
  atOnce: (bytes: Buffer, maxBytes: number) => Buffer | undefined;
};

const createDecompressor = (
  createStream: () => Transform & { bytesWritten: number },
  decompressSync: typeof gunzipSync | typeof brotliDecompressSync,
): BodyDecompressor => ({
  stream: (pieces) => decompressAll(pieces, createStream(), notDecompressed),
  atOnce: (bytes, maxBytes) => {
    try {
      const options = { maxOutputLength: maxBytes, info: true };
      // With `info`, which the types of Node.js lack.
      const { buffer, engine } = decompressSync(bytes, options) as unknown as Decompressed;
      if (engine.bytesWritten < bytes.length) throw new Error(DATA_BEHIND);
      return buffer;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
      throw notDecompressed(error);
    }
  },
});

const gzip = createDecompressor(createGunzip, gunzipSync);

/** Keyed by Content-Encoding (RFC 9110 §8.4.1). */
const decompressors = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', createDecompressor(createInflate, inflateSync)],
  ['br', createDecompressor(createBrotliDecompress, brotliDecompressSync)],
]);

/**
 * Selects the decompressor for a body.
 * @returns undefined if the body is not compressed
 * @throws {StoreError} 1001
 */
export const bodyDecompressor = ({
  headers: { 'content-encoding': encoding = 'identity' },
}: Request): BodyDecompressor | undefined => {
  // Empty members of a list are ignored (RFC 9110 §5.6.1.2). No regular expression: some take quadratic time for many commas.
  const members = encoding.split(',').map((member) => member.trim().toLowerCase());
  const name = members.filter(Boolean).join() || 'identity';
  const decompressor = decompressors.get(name);
  if (decompressor === undefined && name !== 'identity') {
    const headers = { 'Accept-Encoding': 'gzip, deflate, br' }; // RFC 9110 §15.5.16
    throw new StoreError('mediaTypeNotSupported', 'The Content-Encoding must be gzip, deflate, br or identity.', {
      headers,
    });
  }
  return decompressor;
};

/** `bytesWritten`: how many bytes were read. */
type Decompressed = { buffer: Buffer; engine: { bytesWritten: number } };

const DATA_BEHIND = 'there is data after the compressed data';

export const notDecompressed = (cause: unknown, what = 'body') =>
  new StoreError('bodyNotJson', `The ${what} could not be decompressed: ${(cause as Error).message}.`, { cause });

/**
 * Decompresses all pieces. zlib itself drops data after the end of the compressed data, such as zeros between two members of
 * a gzip file and what follows them.
 * @throws the errors of `pieces`; what `toError` returns if there is such data, or if the pieces are not valid
 */
export async function* decompressAll(
  pieces: AsyncIterable<Buffer>,
  stream: Transform & { bytesWritten: number },
  toError: (cause: unknown) => unknown = (cause) => cause,
): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]();
  let received = 0;
  let failure: unknown;
  // Not `yield* pieces`, which would close them when the compressed data ends.
  const counted = async function* () {
    try {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        received += next.value.length;
        yield next.value;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  try {
    yield* pipeline(counted, stream, () => {});
    const hasMore = stream.bytesWritten < received || !(await counted().next()).done;
    if (hasMore) throw new Error(DATA_BEHIND);
  } catch (error) {
    throw failure ?? toError(error);
  } finally {
    // Not awaited: it waits for a piece that is being read, which may never come.
    iterator.return?.().catch(() => {});
  }
}
