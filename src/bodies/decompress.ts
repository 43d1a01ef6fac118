import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Request } from 'express';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';

/** Keyed by Content-Encoding (RFC 9110 §8.4.1). */
const decompressors = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Selects the decompressor for a body. Its memory is bounded, whatever the decompressed size.
 * @returns a function whose result throws 1000 if the body is not valid; undefined if the body is not compressed
 * @throws {ApiError} 1001
 */
export const bodyDecompressor = ({ headers: { 'content-encoding': encoding = 'identity' } }: Request) => {
  const name = encoding.toLowerCase();
  if (name === 'identity') return undefined;
  const createStream = decompressors.get(name);
  if (createStream === undefined)
    throw new ApiError(
      commonErrors.mediaTypeNotSupported,
      'The Content-Encoding must be gzip, deflate, br or identity.',
    );
  return (pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
    decompressAll(pieces, createStream(), notDecompressed);
};

const notDecompressed = (cause: unknown) =>
  new ApiError(commonErrors.bodyNotJson, 'The body could not be decompressed.', { cause });

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
    if (hasMore) throw new Error('There is data after the compressed data.');
  } catch (error) {
    throw failure ?? toError(error);
  } finally {
    await iterator.return?.();
  }
}
