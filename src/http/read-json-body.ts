import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { parse as parseContentType } from 'content-type';
import type { Request, RequestHandler, Response } from 'express';
import getRawBody from 'raw-body';
import { ApiError } from './api-error.ts';
import { parseExactJson } from './exact-json.ts';

const decompressors = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

type JsonBodyReaderOptions = {
  /** In bytes. */
  limit: number;
  mediaType: string;
};

/**
 * Reads the body of a request, at most `limit` bytes of it after decompression, and leaves the parsed JSON
 * (see parseExactJson) in `request.body`. Not `express.raw`, which reads a body that is too large to its end
 * before it says so.
 */
export const createJsonBodyReader =
  ({ limit, mediaType }: JsonBodyReaderOptions): RequestHandler =>
  async (request, response, next) => {
    assertMediaType(mediaType, request.headers['content-type']);
    request.body = parseJson(await readBytes(request, response, limit));
    next();
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

const readBytes = async (request: Request, response: Response, limit: number) => {
  const { 'content-encoding': encoding = 'identity', 'content-length': length } = request.headers;
  const createDecompressor = decompressors.get(encoding.toLowerCase());
  if (createDecompressor === undefined && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('mediaTypeNotSupported', 'The Content-Encoding should be gzip, deflate, br or identity.');
  }
  if (createDecompressor === undefined && Number(length) > limit) throw bodyTooLarge(limit);
  inviteBody(request, response);
  if (createDecompressor === undefined) return rawBody(request, limit, length);
  const decompressed = request.pipe(createDecompressor());
  request.once('aborted', () => decompressed.destroy(new Error('request aborted')));
  try {
    return await rawBody(decompressed, limit);
  } finally {
    request.unpipe(decompressed);
    decompressed.destroy();
  }
};

/** A client may wait to be asked for its body (RFC 9110 §10.1.1); one of HTTP/1.0 does not know that. */
const inviteBody = (request: Request, response: Response) => {
  const expectation = request.headers.expect?.toLowerCase();
  if (expectation === '100-continue' && request.httpVersion !== '1.0') response.writeContinue();
};

const bodyTooLarge = (limit: number) => new ApiError('bodyTooLarge', `The body should be at most ${limit} bytes.`);

const rawBody = async (stream: NodeJS.ReadableStream, limit: number, length?: string): Promise<Buffer> => {
  try {
    return await getRawBody(stream, { limit, length: length ?? null });
  } catch (error) {
    if ((error as getRawBody.RawBodyError).type === 'entity.too.large') {
      throw bodyTooLarge(limit);
    }
    throw new ApiError('bodyNotJson', 'The body ended early or could not be decompressed.', { cause: error });
  }
};

/** `fatal`: an invalid sequence is an error; the leading byte order mark is dropped, as RFC 8259 §8.1 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) throw new ApiError('bodyNotJson', 'The body is empty and should be a JSON object.');
  try {
    return parseExactJson(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ApiError('bodyNotJson', `The body is not JSON: ${error.message}`);
    throw new ApiError('bodyNotJson', 'The body is not UTF-8.');
  }
};
