import { pipeline, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
  type ZlibOptions,
} from 'node:zlib';
import type { Request } from 'express';
import { ApiError } from './api-error.ts';
import { commonErrors } from './common-errors.ts';

const gzip = { whole: promisify<Buffer, ZlibOptions, Buffer>(gunzip), createStream: createGunzip };

/** Keyed by Content-Encoding (RFC 9110 §8.4.1). */
const decompressors = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', { whole: promisify<Buffer, ZlibOptions, Buffer>(inflate), createStream: createInflate }],
  ['br', { whole: promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress), createStream: createBrotliDecompress }],
]);

const decompressorFor = ({ headers: { 'content-encoding': encoding = 'identity' } }: Request) => {
  const name = encoding.toLowerCase();
  const decompressor = decompressors.get(name);
  if (decompressor !== undefined || name === 'identity') return decompressor;
  const message = 'The Content-Encoding should be gzip, deflate, br or identity.';
  throw new ApiError(commonErrors.mediaTypeNotSupported, message);
};

const notDecompressed = (cause: unknown) =>
  new ApiError(commonErrors.bodyNotJson, 'The body could not be decompressed.', { cause });

/**
 * Selects the decompressor for a buffered body.
 * @returns a function that rejects with `tooLarge()` beyond `limit` bytes; undefined if the body is not compressed
 * @throws {ApiError} 1001
 */
export const bodyDecompressor = (request: Request) => {
  const decompressor = decompressorFor(request);
  return (
    decompressor &&
    (async (bytes: Buffer, limit: number, tooLarge: () => ApiError): Promise<Buffer> => {
      try {
        return await decompressor.whole(bytes, { maxOutputLength: limit });
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : notDecompressed(error);
      }
    })
  );
};

/**
 * Selects the decompressor for a streamed body. Its memory is bounded, whatever the decompressed size.
 * @returns a function that returns the pieces unchanged if the body is not compressed
 * @throws {ApiError} 1001
 */
export const streamDecompressor = (request: Request) => {
  const decompressor = decompressorFor(request);
  return (pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
    decompressor === undefined ? pieces : decompressAll(pieces, decompressor.createStream(), notDecompressed);
};

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
  const readNext = async () => {
    try {
      return await iterator.next();
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  // Not `yield* pieces`, which would close them when the compressed data ends.
  const counted = async function* () {
    for (let next = await readNext(); !next.done; next = await readNext()) {
      received += next.value.length;
      yield next.value;
    }
  };
  try {
    yield* pipeline(counted, stream, () => {});
    const hasMore = stream.bytesWritten < received || !(await readNext()).done;
    if (hasMore) throw new Error('There is data after the compressed data.');
  } catch (error) {
    throw failure ?? toError(error);
  } finally {
    await iterator.return?.();
  }
}
