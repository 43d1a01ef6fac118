import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { StoreError } from '../errors.ts';
import type { BodySlots } from './body-slots.ts';
import { createByteBuffer } from './byte-buffer.ts';
import { bodyDecompressor } from './decompress.ts';
import { parseExactJson } from './exact-json.ts';
import { bodyTooLarge, clientDisconnected, gatherBody } from './gather-body.ts';
import { readContentType } from './media-type.ts';

/** How much compression can add to incompressible data, in bytes. */
const COMPRESSION_OVERHEAD = 1024;
/** Larger bodies, in bytes, are parsed one at a time: many in a row would delay all other requests. */
const LARGE_BODY = 16_384;

/** Reads a body whole. @throws {StoreError} 1000, 1001, 1002, 1203, 1500 */
export type BodyReader<Body> = (request: Request, response: Response) => Promise<Body>;

/** What bodies may take. */
export type BodyLimits = {
  /** The maximum size of a decompressed body, in bytes. */
  limit: number;
  /** How long the client may take to send it, in ms. */
  timeout: number;
  slots: BodySlots;
};

type BodyReaderOptions<Body> = BodyLimits & {
  mediaTypes: readonly string[];
  parse: (bytes: Buffer) => Body;
};

/**
 * A compressed body is decompressed once it is complete, so a slow client holds only as much memory as it sent. A small one
 * is decompressed at once: each of zlib's streams holds 60 KiB, and 20,000 clients may send one.
 */
export const createBodyReader = <Body>(options: BodyReaderOptions<Body>): BodyReader<Body> => {
  const { limit, timeout, slots, mediaTypes, parse } = options;
  const maxSmall = Math.min(LARGE_BODY, limit);
  return async (request, response) => {
    readContentType(mediaTypes, request.headers['content-type']);
    const decompress = bodyDecompressor(request);
    const maxBytes = decompress ? limit + COMPRESSION_OVERHEAD : limit;
    if (Number(request.headers['content-length']) > maxBytes) throw bodyTooLarge(limit);
    sendContinue(request, response);
    const { bytes, release } = await gatherBody(request, response, { limit: maxBytes, timeout, slots });
    try {
      const small = bytes.length <= LARGE_BODY && (decompress ? decompress.atOnce(bytes, maxSmall) : bytes);
      if (small) return parse(small);
      return await slots.parseInTurn(async () => {
        if (response.destroyed) throw clientDisconnected();
        return parse(decompress ? await concatUpTo(limit, decompress.stream(Readable.from([bytes]))) : bytes);
      });
    } finally {
      release();
    }
  };
};

/** @throws {StoreError} 1002; the errors of `pieces` */
const concatUpTo = async (limit: number, pieces: AsyncIterable<Buffer>): Promise<Buffer> => {
  const body = createByteBuffer(limit);
  for await (const piece of pieces) if (!body.add(piece)) throw bodyTooLarge(limit);
  return body.bytes();
};

/** A client may wait for 100 Continue before it sends its body (RFC 9110 §10.1.1). HTTP/1.0 does not have it. */
export const sendContinue = (request: Request, response: Response) => {
  const expectation = request.headers.expect?.toLowerCase();
  if (expectation === '100-continue' && request.httpVersion !== '1.0') response.writeContinue();
};

/** `fatal`: invalid UTF-8 is an error. A leading byte order mark is ignored, as RFC 8259 §8.1 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a body of JSON in UTF-8; see `parseExactJson`. @throws {StoreError} 1000, 1002 */
export const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) throw new StoreError('bodyNotJson', 'The body is empty and must be a JSON object.');
  return parseJsonText(decodeUtf8(bytes), 'The body');
};

/** @throws {StoreError} 1000 */
export const decodeUtf8 = (bytes: Buffer): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new StoreError('bodyNotJson', 'The body is not UTF-8.');
  }
};

/** @param subject what a message calls the text. @throws {StoreError} 1000, 1002 */
export const parseJsonText = (text: string, subject: string, maxSeparators?: number): unknown => {
  try {
    return parseExactJson(text, maxSeparators);
  } catch (error) {
    if (error instanceof RangeError) throw new StoreError('bodyTooLarge', `${subject} has ${error.message}.`);
    throw new StoreError('bodyNotJson', `${subject} is not JSON: ${(error as Error).message}`);
  }
};
