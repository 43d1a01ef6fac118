import type { Request, Response } from 'express';
import { StoreError } from '../errors.ts';
import { type BodySlots, tooManyBodies } from './body-slots.ts';
import { createByteBuffer } from './byte-buffer.ts';

/** Larger bodies, in bytes, need a slot. */
const SMALL_BODY = 16_384;
/**
 * A one-byte piece costs as much CPU as a large one. After FREE_PIECES, pieces must average MIN_AVERAGE_PIECE bytes.
 */
export const FREE_PIECES = 1000;
export const MIN_AVERAGE_PIECE = 64;

/** `limit`: in bytes. `timeout`: how long the client may take to send the body, in ms. */
type GatherOptions = { limit: number; timeout: number; slots: BodySlots };

/**
 * Reads the body of a request without decompressing it. Stops reading and frees the memory if the body is too large,
 * the client disconnects or is too slow, the response ends first, or too many large bodies are being read. (`raw-body` cannot
 * be interrupted.)
 * @returns the bytes. The caller must call `release` once it no longer needs them
 * @throws {StoreError} 1000, 1002, 1203, 1500
 */
export const gatherBody = (request: Request, response: Response, { limit, timeout, slots }: GatherOptions) =>
  new Promise<{ bytes: Buffer; release: () => void }>((resolve, reject) => {
    const body = createByteBuffer(limit);
    let pieces = 0;
    let isSettled = false;
    let release: (() => void) | undefined;
    let deadline: NodeJS.Timeout | undefined;
    const settle = () => {
      isSettled = true;
      clearTimeout(deadline);
      request.off('data', onData).off('end', onEnd);
      response.off('close', onClose);
    };
    const fail = (error: StoreError) => {
      // A complete body keeps its slot until it is parsed.
      if (isSettled) return;
      settle();
      request.pause();
      release?.();
      reject(error);
    };
    const takeSlot = () => {
      request.pause();
      const onGranted = () => resumeReading(request);
      release = slots.take({ onGranted, onLost: () => fail(tooManyBodies()) });
    };
    const onData = (piece: Buffer) => {
      pieces += 1;
      if (!body.add(piece)) return fail(bodyTooLarge(limit));
      if (pieces > FREE_PIECES && body.size() < pieces * MIN_AVERAGE_PIECE) return fail(tooManyPieces());
      if (release === undefined && body.size() > SMALL_BODY) takeSlot();
    };
    const onEnd = () => {
      settle();
      resolve({ bytes: body.bytes(), release: () => release?.() });
    };
    const onClose = () => fail(new StoreError('bodyNotJson', 'The body ended early.'));
    if (response.destroyed) return onClose();
    // First handles data that arrived while the process was busy.
    const onTimeout = () => fail(new StoreError('requestTooSlow'));
    deadline = setTimeout(() => setImmediate(onTimeout), timeout);
    if (Number(request.headers['content-length']) > SMALL_BODY) takeSlot();
    if (isSettled) return;
    request.on('data', onData).on('end', onEnd);
    response.on('close', onClose);
  });

/** Continues to read a body after a pause. Node.js assumes that the socket is already flowing, so it stays paused. */
export const resumeReading = (request: Request): void => {
  request.resume();
  request.socket.resume();
};

export const bodyTooLarge = (limit: number): StoreError =>
  new StoreError('bodyTooLarge', `The body must be at most ${limit} bytes.`);

export const clientDisconnected = (): StoreError => new StoreError('bodyNotJson', 'The client disconnected.');

export const tooManyPieces = (): StoreError =>
  new StoreError('bodyTooLarge', `The body arrives in too many pieces smaller than ${MIN_AVERAGE_PIECE} bytes.`);
