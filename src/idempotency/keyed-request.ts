import { hash } from 'node:crypto';
import type { Request } from 'express';
import { ApiError } from '../http/api-error.ts';
import { idempotencyErrorCodes } from './idempotency-api-errors.ts';

/** A request with an Idempotency-Key. */
export type KeyedRequest = {
  /** The SHA-256 of the token's name and the key, in hex. */
  key: string;
  /** The SHA-256 of what the request asks for, in hex. */
  fingerprint: string;
  /** In ms of the monotonic clock. */
  startedAt: number;
  /** Set by repositories: whether the answer was kept by this request, or is the kept answer of an earlier one. */
  answer?: 'kept' | 'replayed';
};

const MAX_LENGTH = 255;
/** Of a wrong key, in a message. */
const SHOWN_LENGTH = 40;
const EXPECTED = `must be 1 to ${MAX_LENGTH} visible ASCII characters, in double quotes or without any`;

/**
 * Reads the Idempotency-Key header: a string of structured fields (draft-ietf-httpapi-idempotency-key-header-07 §2.1, RFC 9651
 * §3.3.3), or the same text without quotes, as most clients send it.
 * @throws {ApiError} code 1300
 */
export const readIdempotencyKey = (request: Pick<Request, 'headers' | 'headersDistinct'>): string | undefined => {
  // Node.js joins several headers by a comma and a space, which no valid key contains.
  const text = request.headers['idempotency-key'] as string | undefined;
  if (text === undefined) return undefined;
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (text.startsWith('"') ? '' : text);
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_LENGTH) return key;
  if ((request.headersDistinct['idempotency-key']?.length ?? 0) > 1)
    throw keyInvalid('There is more than one Idempotency-Key header.');
  const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  throw keyInvalid(`The Idempotency-Key is ${JSON.stringify(shown)} and ${EXPECTED}.`);
};

const keyInvalid = (message: string) => new ApiError(idempotencyErrorCodes.keyInvalid, message);

/** @param body a text that is the same for bodies with the same meaning */
export const createKeyedRequest = (tokenName: string, key: string, request: Request, body: string): KeyedRequest => {
  const { method, url, headers } = request;
  const parts = [method, url, headers['if-match'], headers['if-none-match'], body];
  return {
    // A name of a token contains no line break.
    key: hash('sha256', `${tokenName}\n${key}`),
    fingerprint: hash('sha256', JSON.stringify(parts)),
    startedAt: performance.now(),
  };
};
