import type { Request } from 'express';
import { ApiError } from './api-error.ts';
import type { BodyBudget, BodyHold } from './body-budget.ts';

/** A body of at most so many bytes that arrives in one piece is not counted: it is gone before the next one is read. */
const UNCOUNTED_BYTES = 4096;
/** What Node.js takes for each piece of a body besides its bytes, about. */
const PIECE_OVERHEAD = 256;

type GatherOptions = {
  /** In bytes. */
  limit: number;
  budget: BodyBudget;
};

/** The bytes of a body, and what to call when they are no longer needed. */
export type GatheredBody = { bytes: Buffer; release: () => void };

/**
 * Reads the body of a request as it was sent. Stops reading, and holds nothing any more, where it is too large, the
 * client goes away, or the budget of all bodies is exceeded. (`raw-body` cannot be interrupted.)
 * @throws {ApiError} 1000, 1002, 1500
 */
export const gatherBody = (request: Request, { limit, budget }: GatherOptions): Promise<GatheredBody> =>
  new Promise((resolve, reject) => {
    const declared = Number(request.headers['content-length']);
    const chunks: Buffer[] = [];
    let size = 0;
    let hold: BodyHold | undefined;
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      request.pause();
    };
    const fail = (error: ApiError) => {
      stop();
      hold?.release();
      chunks.length = 0;
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return fail(bodyTooLarge(limit));
      chunks.push(chunk);
      if (size === declared && size <= UNCOUNTED_BYTES && chunks.length === 1) return;
      hold ??= budget.open(() => fail(tooManyBodies()));
      hold.add(chunk.length + PIECE_OVERHEAD);
    };
    const onEnd = () => {
      stop();
      hold?.complete();
      const [first] = chunks;
      const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks);
      resolve({ bytes, release: () => hold?.release() });
    };
    const onClose = () => fail(new ApiError('bodyNotJson', 'The body ended early.'));
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });

export const bodyTooLarge = (limit: number): ApiError =>
  new ApiError('bodyTooLarge', `The body should be at most ${limit} bytes.`);

const tooManyBodies = () =>
  new ApiError('overloaded', 'Too many large bodies are being sent; try again later.', {
    headers: { 'Retry-After': '1' },
  });
