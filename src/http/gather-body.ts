import type { Request } from 'express';
import { ApiError } from './api-error.ts';
import { createBodyPieces } from './body-pieces.ts';
import type { BodySlots } from './body-slots.ts';

/** A larger body, in bytes, needs a slot to be read. */
const SMALL_BODY = 16_384;
/** A piece of one byte costs as much CPU as a large one. From so many on, pieces must have so many bytes on average. */
const FREE_PIECES = 1000;
const MIN_AVERAGE_PIECE = 64;

type GatherOptions = {
  /** In bytes. */
  limit: number;
  slots: BodySlots;
};

/** The bytes of a body, and what to call when they are no longer needed. */
export type GatheredBody = { bytes: Buffer; release: () => void };

/**
 * Reads the body of a request as it was sent. Stops reading, and holds nothing any more, when it is too large, the client
 * goes away, or too many large bodies are being read. (`raw-body` cannot be interrupted.)
 * @throws {ApiError} 1000, 1002, 1500
 */
export const gatherBody = (request: Request, { limit, slots }: GatherOptions): Promise<GatheredBody> =>
  new Promise((resolve, reject) => {
    const pieces = createBodyPieces();
    let count = 0;
    let size = 0;
    let release: (() => void) | undefined;
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
    };
    const fail = (error: ApiError) => {
      stop();
      request.pause();
      release?.();
      reject(error);
    };
    const takeSlot = () => {
      request.pause();
      release = () => {};
      release = slots.take({ onGranted: () => request.resume(), onGiveUp: () => fail(tooManyBodies()) });
    };
    const onData = (piece: Buffer) => {
      count += 1;
      size += piece.length;
      if (size > limit) return fail(bodyTooLarge(limit));
      if (count > FREE_PIECES && size < count * MIN_AVERAGE_PIECE) return fail(tooManyPieces());
      pieces.add(piece);
      if (release === undefined && size > SMALL_BODY) takeSlot();
    };
    const onEnd = () => {
      stop();
      resolve({ bytes: pieces.join(), release: () => release?.() });
    };
    const onClose = () => fail(new ApiError('bodyNotJson', 'The body ended early.'));
    if (Number(request.headers['content-length']) > SMALL_BODY) takeSlot();
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });

export const bodyTooLarge = (limit: number): ApiError =>
  new ApiError('bodyTooLarge', `The body should be at most ${limit} bytes.`);

const tooManyPieces = () =>
  new ApiError('bodyTooLarge', `The body comes in many pieces of less than ${MIN_AVERAGE_PIECE} bytes.`);

const tooManyBodies = () =>
  new ApiError('overloaded', 'Too many large bodies are being sent; try again later.', {
    headers: { 'Retry-After': '1' },
  });
