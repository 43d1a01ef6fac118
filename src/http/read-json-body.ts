import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { parse as parseContentType } from 'content-type';
import type { Request, Response } from 'express';
import { ApiError } from './api-error.ts';
import type { BodySlots } from './body-slots.ts';
import { JsonTooComplexError, parseExactJson } from './exact-json.ts';
import { bodyTooLarge, gatherBody, tooManyBodies } from './gather-body.ts';
import { createTurns } from './turns.ts';

type Decompress = (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>;

const decompressors = new Map<string, Decompress>([
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)], // RFC 9110 §8.4.1.3
  ['deflate', promisify<Buffer, ZlibOptions, Buffer>(inflate)],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
]);

/** What compression adds to bytes that it cannot make smaller, at most. */
const COMPRESSION_OVERHEAD = 1024;
/** A larger body is parsed in its turn: many at once would hold up every other request. */
const LARGE_BODY = 16_384;
/** Bodies that may wait for that turn: parsing them takes two seconds at most. */
const MAX_WAITING = 256;

/** Reads a body as JSON; see `parseExactJson`. */
export type JsonBodyReader = (request: Request, response: Response) => Promise<unknown>;

type JsonBodyReaderOptions = {
  /** Of a body after decompression, in bytes. */
  limit: number;
  slots: BodySlots;
  mediaType: string;
};

/**
 * Reads the body of a request, at most `limit` bytes of it after decompression. A compressed body is kept as it came
 * until it is complete, so that a slow client holds no more than it sent.
 * @throws {ApiError} 1000, 1001, 1002, 1500
 */
export const createJsonBodyReader = ({ limit, slots, mediaType }: JsonBodyReaderOptions): JsonBodyReader => {
  const inTurn = createTurns();
  return async (request, response) => {
    assertMediaType(mediaType, request.headers['content-type']);
    const decompress = decompressorFor(request);
    const maxBytes = decompress ? limit + COMPRESSION_OVERHEAD : limit;
    if (Number(request.headers['content-length']) > maxBytes) throw bodyTooLarge(limit);
    inviteBody(request, response);
    const { bytes, release } = await gatherBody(request, response, { limit: maxBytes, slots });
    try {
      if (decompress === undefined && bytes.length <= LARGE_BODY) return parseJson(bytes);
      if (inTurn.waiting() >= MAX_WAITING) throw tooManyBodies();
      return await inTurn(async () => {
        // Nobody waits for it any more.
        if (response.destroyed) throw new ApiError('bodyNotJson', 'The client went away.');
        return parseJson(decompress ? await decompress(bytes, limit) : bytes);
      });
    } finally {
      release();
    }
  };
};

const assertMediaType = (expected: string, header = '') => {
  if (header === expected) return;
  const { type, charset } = parseMediaType(header);
  if (type !== expected) {
    const message = `The Content-Type should be ${expected}.`;
    throw new ApiError('mediaTypeNotSupported', message, { headers: { Accept: expected } }); // RFC 9110 §15.5.16
  }
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new ApiError('mediaTypeNotSupported', `The charset of ${expected} should be utf-8 (RFC 8259).`);
  }
};

const parseMediaType = (header: string) => {
  try {
    const { type, parameters } = parseContentType(header);
    return { type, charset: parameters.charset };
  } catch {
    return { type: undefined, charset: undefined };
  }
};

/** @returns undefined for a body that is not compressed */
const decompressorFor = ({ headers: { 'content-encoding': encoding = 'identity' } }: Request) => {
  if (encoding.toLowerCase() === 'identity') return undefined;
  const decompress = decompressors.get(encoding.toLowerCase());
  if (decompress === undefined) {
    throw new ApiError('mediaTypeNotSupported', 'The Content-Encoding should be gzip, deflate, br or identity.');
  }
  return async (bytes: Buffer, limit: number): Promise<Buffer> => {
    try {
      return await decompress(bytes, { maxOutputLength: limit });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limit);
      throw new ApiError('bodyNotJson', 'The body could not be decompressed.', { cause: error });
    }
  };
};

/** A client may wait to be asked for its body (RFC 9110 §10.1.1); one of HTTP/1.0 does not know that. */
const inviteBody = (request: Request, response: Response) => {
  const expectation = request.headers.expect?.toLowerCase();
  if (expectation === '100-continue' && request.httpVersion !== '1.0') response.writeContinue();
};

/** `fatal`: an invalid sequence is an error; the leading byte order mark is dropped, as RFC 8259 §8.1 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) throw new ApiError('bodyNotJson', 'The body is empty and should be a JSON object.');
  try {
    return parseExactJson(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ApiError('bodyNotJson', `The body is not JSON: ${error.message}`);
    if (error instanceof JsonTooComplexError) throw new ApiError('bodyTooLarge', `The body has ${error.message}.`);
    throw new ApiError('bodyNotJson', 'The body is not UTF-8.');
  }
};
