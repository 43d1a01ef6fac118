import type { Request, Response } from 'express';
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
 * goes away, the request is answered meanwhile, or too many large bodies are being read. (`raw-body` cannot be interrupted.)
 * @throws {ApiError} 1000, 1002, 1500
 */
export const gatherBody = (request: Request, response: Response, options: GatherOptions): Promise<GatheredBody> =>
  new Promise((resolve, reject) => {
    const { limit, slots } = options;
    const pieces = createBodyPieces();
    let count = 0;
    let size = 0;
    let isSettled = false;
    let release: (() => void) | undefined;
    const settle = () => {
      isSettled = true;
      request.off('data', onData).off('end', onEnd);
      response.off('close', onClose);
    };
    const fail = (error: ApiError) => {
      // A body that is complete keeps its slot until it is parsed.
      if (isSettled) return;
      settle();
      request.pause();
      release?.();
      reject(error);
    };
    const goOn = () => {
      request.resume();
      // Node.js believes that it reads already.
      request.socket.resume();
    };
    const takeSlot = () => {
      request.pause();
      const giveBack = slots.take({ onGranted: goOn, onLost: () => fail(tooManyBodies()) });
      if (giveBack === undefined) fail(tooManyBodies());
      else release = giveBack;
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
      settle();
      resolve({ bytes: pieces.join(), release: () => release?.() });
    };
    const onClose = () => fail(new ApiError('bodyNotJson', 'The body ended early.'));
    if (response.destroyed) return onClose();
    if (Number(request.headers['content-length']) > SMALL_BODY) takeSlot();
    if (isSettled) return;
    request.on('data', onData).on('end', onEnd);
    response.on('close', onClose);
  });

export const bodyTooLarge = (limit: number): ApiError =>
  new ApiError('bodyTooLarge', `The body should be at most ${limit} bytes.`);

const tooManyPieces = () =>
  new ApiError('bodyTooLarge', `The body comes in many pieces of less than ${MIN_AVERAGE_PIECE} bytes.`);

export const tooManyBodies = (): ApiError =>
  new ApiError('overloaded', 'Too many large bodies are being sent; try again later.', {
    headers: { 'Retry-After': '1' },
  });
