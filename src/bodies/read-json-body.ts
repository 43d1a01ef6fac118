import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import { StoreError } from '../errors.ts';
import type { Hold } from '../http/byte-budget.ts';
import { parseBody } from '../http/parse-request.ts';
import { bodyDecompressor } from './decompress.ts';
import { parseJsonText } from './exact-json.ts';
import { readContentType } from './media-type.ts';
import { FREE_PIECES, MIN_AVERAGE_PIECE, tooManyPieces } from './stream-body.ts';

/** How much compression can add to incompressible data, in bytes. */
const COMPRESSION_OVERHEAD = 1024;
/** Larger bodies, in bytes, are parsed one at a time: many in a row would delay all other requests. */
const LARGE_BODY = 16_384;
/** The smallest allocation for a body in several pieces, in bytes. */
const FIRST_CAPACITY = 4096;
const NOTHING = Buffer.alloc(0);

/** What bodies may take. */
export type BodyLimits = {
  /** The maximum size of a decompressed body, in bytes. */
  limit: number;
  /** How long the client may take to send it, in ms. */
  timeout: number;
  hold: Hold;
};

/** Runs tasks one at a time, in order. After each, other events get a turn, so that small requests are not delayed. */
export const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(task: () => Promise<Result>): Promise<Result> => {
    const result = last.then(task);
    last = result.catch(() => {}).then(() => setImmediate());
    return result;
  };
};

/**
 * A compressed body is decompressed once it is complete, so a slow client holds only as much memory as it sent.
 * @returns a function that reads a body whole. @throws {StoreError} 1000, 1001, 1002, 1003, 1203, 1500
 */
export const createBodyReader = (limits: BodyLimits) => {
  const { limit, hold } = limits;
  const maxSmall = Math.min(LARGE_BODY, limit);
  const inTurn = createTurns();
  return async <Schema extends z.ZodType>(
    request: Request,
    response: Response,
    schema: Schema,
    mediaTypes: readonly string[] = ['application/json'],
  ): Promise<z.infer<Schema>> => {
    readContentType(mediaTypes, request.headers['content-type']);
    const decompress = bodyDecompressor(request);
    const maxBytes = decompress ? limit + COMPRESSION_OVERHEAD : limit;
    if (Number(request.headers['content-length']) > maxBytes) throw bodyTooLarge(limit);
    sendContinue(request, response);
    let bytes: Buffer = await gatherBody(request, response, limits, maxBytes);
    const small = bytes.length <= LARGE_BODY && (decompress ? decompress.atOnce(bytes, maxSmall) : bytes);
    if (small) return parseBody(schema, parseJson(small));
    return new Promise((resolve, reject) => {
      const drop = () => {
        bytes = NOTHING;
        response.locals.isDropped = true;
        reject(requestDropped());
      };
      // A compressed body counts as what it may become, because many that wait would take long to parse.
      hold(response, { kind: 'bodies', bytes: decompress ? limit : bytes.length, drop });
      const parseLarge = async () => {
        if (response.destroyed) throw clientDisconnected();
        if (response.locals.isDropped) throw requestDropped();
        const whole = decompress ? decompress.atOnce(bytes, limit) : bytes;
        bytes = NOTHING;
        if (whole === undefined) throw bodyTooLarge(limit);
        resolve(parseBody(schema, parseJson(whole)));
        // Its text can take two bytes for each of them, until it is stored.
        hold(response, { kind: 'bodies', bytes: 2 * whole.length, drop });
      };
      inTurn(parseLarge).catch(reject);
    });
  };
};

/**
 * Reads the body of a request without decompressing it. Stops reading and frees the memory if the body is too large, the client
 * disconnects or is too slow, the response ends first, or the budget drops it. (`raw-body` cannot be interrupted.)
 * @param maxBytes the maximum number of bytes, which may be compressed
 * @throws {StoreError} 1000, 1002, 1203, 1500
 */
const gatherBody = (request: Request, response: Response, limits: BodyLimits, maxBytes: number) =>
  new Promise<Buffer>((resolve, reject) => {
    const { limit, timeout, hold } = limits;
    const length = Number(request.headers['content-length']);
    let bytes: Buffer = NOTHING;
    let size = 0;
    let pieces = 0;
    const settle = () => {
      clearTimeout(deadline);
      request.off('data', onData).off('end', onEnd);
      response.off('close', onClose);
      // Node.js keeps these functions for as long as the connection is open.
      bytes = NOTHING;
    };
    const fail = (error: StoreError) => {
      settle();
      request.pause();
      reject(error);
    };
    const drop = () => {
      // Also if it is complete, and its request waits for the database.
      response.locals.isDropped = true;
      fail(requestDropped());
    };
    const makeRoom = () => {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(FIRST_CAPACITY, 2 * size)));
      bytes.copy(larger);
      bytes = larger;
      // All of it counts from the start: reading thousands of bodies at once would hold up others, however little arrives.
      hold(response, { kind: 'bodies', bytes: length || (size > LARGE_BODY ? maxBytes : LARGE_BODY), drop });
    };
    const onData = (piece: Buffer) => {
      const start = size;
      size += piece.length;
      pieces += 1;
      if (size > maxBytes) return fail(bodyTooLarge(limit));
      if (pieces > FREE_PIECES && size < pieces * MIN_AVERAGE_PIECE) return fail(tooManyPieces());
      // Most bodies are complete with their first piece, and parsed at once.
      if (piece.length === length) {
        bytes = piece;
        return;
      }
      if (size > bytes.length) makeRoom();
      piece.copy(bytes, start);
    };
    const onEnd = () => {
      resolve(bytes.subarray(0, size));
      settle();
    };
    const onClose = () => fail(new StoreError('bodyNotJson', 'The body ended early.'));
    // First handles data that arrived while the process was busy.
    const onTimeout = () => fail(new StoreError('requestTooSlow'));
    const deadline = setTimeout(() => setImmediate().then(onTimeout), timeout);
    if (response.destroyed) return onClose();
    request.on('data', onData).on('end', onEnd);
    response.on('close', onClose);
  });

const bodyTooLarge = (limit: number): StoreError =>
  new StoreError('bodyTooLarge', `The body must be at most ${limit} bytes.`);

export const clientDisconnected = (): StoreError => new StoreError('bodyNotJson', 'The client disconnected.');

const requestDropped = () =>
  new StoreError('overloaded', 'The requests in progress with this token hold too much memory. Try again later.');

/** A client may wait for 100 Continue before it sends its body (RFC 9110 §10.1.1). HTTP/1.0 does not have it. */
export const sendContinue = (request: Request, response: Response) => {
  const expectation = request.headers.expect?.toLowerCase();
  if (expectation === '100-continue' && request.httpVersion !== '1.0') response.writeContinue();
};

/** A leading byte order mark is ignored, as RFC 8259 §8.1 allows. */
const utf8 = new TextDecoder();

/** Parses a body of JSON in UTF-8; see `parseExactJson`. @throws {StoreError} 1000, 1002 */
const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) throw new StoreError('bodyNotJson', 'The body is empty and must be a JSON object.');
  if (!isUtf8(bytes)) throw new StoreError('bodyNotJson', 'The body is not UTF-8.');
  return parseJsonText(utf8.decode(bytes), 'The body');
};
