import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { errors, StoreError } from '../errors.ts';
import { parametersOf } from '../openapi/openapi.ts';
import { quoteValue } from '../quote-value.ts';

/** A request with an Idempotency-Key. */
export type KeyedRequest = {
  /** The SHA-256 of the token's name and the key, in hex. */
  key: string;
  /** The SHA-256 of what the request asks for, in hex. */
  fingerprint: string;
  /** Called if its response is the stored one of an earlier request. */
  onReplay: () => void;
};

const MAX_LENGTH = 255;
const EXPECTED = `must be 1 to ${MAX_LENGTH} visible ASCII characters, in double quotes or without any`;

/**
 * Reads the Idempotency-Key header: a string of structured fields (draft-ietf-httpapi-idempotency-key-header-07 §2.1, RFC 9651
 * §3.3.3), or the same text without quotes, as most clients send it.
 * @throws {StoreError} code 1300
 */
export const readIdempotencyKey = (request: Pick<Request, 'headers' | 'headersDistinct'>): string | undefined => {
  // Node.js joins several headers by a comma and a space, which no valid key contains.
  const text = request.headers['idempotency-key'] as string | undefined;
  if (text === undefined) return undefined;
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (text.startsWith('"') ? '' : text);
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_LENGTH) return key;
  if ((request.headersDistinct['idempotency-key']?.length ?? 0) > 1)
    throw new StoreError('keyInvalid', 'There is more than one Idempotency-Key header.');
  throw new StoreError('keyInvalid', `The Idempotency-Key is ${quoteValue(text)} and ${EXPECTED}.`);
};

const DISTRIBUTED =
  'The plants of this service are distributed over several servers, so it cannot store responses for an Idempotency-Key; ' +
  'nothing was changed. Send no key.';

/**
 * @returns a function that reads the Idempotency-Key of a request; undefined if it has none. Its response is marked if it repeats
 * an earlier one. `body`: a text that is the same for bodies with the same meaning.
 * @param options `isDistributed`: whether plants are, so that keys, which are not, would need a transaction over several servers
 * @throws {StoreError} codes 1300 and 1303
 */
export const createKeyReader =
  ({ isDistributed }: { isDistributed: () => Promise<boolean> }) =>
  async (request: Request, response: Response, body: () => string): Promise<KeyedRequest | undefined> => {
    const key = readIdempotencyKey(request);
    if (key === undefined) return undefined;
    if (await isDistributed()) throw new StoreError('keyNotSupported', DISTRIBUTED);
    const { method, url, headers } = request;
    const parts = [method, url, headers['if-match'], headers['if-none-match'], body()];
    return {
      // A name of a token contains no line break.
      key: hash('sha256', `${response.locals.tokenName ?? ''}\n${key}`),
      fingerprint: hash('sha256', JSON.stringify(parts)),
      onReplay: () => {
        // The client may have got a response that says that it took too long.
        if (!response.headersSent) response.setHeader('Idempotent-Replayed', 'true');
      },
    };
  };

export type KeyReader = ReturnType<typeof createKeyReader>;

/** What operations that take an Idempotency-Key have in addition. */
export const idempotent = {
  parameters: parametersOf(
    'header',
    z.object({
      'Idempotency-Key': z
        .string()
        // Quotes and brackets are escaped, because some generators and other engines misread them in a pattern.
        .regex(/^(\x22([!#-\x5b\x5d-~]|\\[\x22\\]){1,255}\x22|[!#-~][!-~]{0,254})$/)
        .optional()
        .describe(
          'A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in ' +
            'double quotes. The same request with the same key has the same response, and is carried out once.',
        ),
    }),
  ),
  errors: [errors.keyInvalid, errors.keyReused, errors.keyNotSupported],
};
