import { ApiError, defineErrors } from '../http/api-error.ts';
import { KeyReusedError, ResponseTooLongError } from './idempotency-errors.ts';

/** The errors of requests with an Idempotency-Key. */
export const idempotencyErrorCodes = defineErrors({
  keyInvalid: {
    code: 1300,
    status: 400,
    title: 'Idempotency-Key not valid',
    when: 'the Idempotency-Key is not valid',
    advice:
      'Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID. Quotes around it are optional.',
    example:
      'The Idempotency-Key is "a b" and must be 1 to 255 visible ASCII characters, in double quotes or without any.',
  },
  keyReused: {
    code: 1301,
    status: 422,
    title: 'Idempotency-Key used for another request',
    when: 'the Idempotency-Key came with another request before',
    advice:
      'Use a new key for each change. To repeat a request, send it with the same method, path, body and preconditions.',
    example: 'This Idempotency-Key came with another request before. Use a new key for each change.',
  },
  keyNotSupported: {
    code: 1303,
    status: 400,
    title: 'Idempotency-Key not supported here',
    when: 'an Idempotency-Key is not supported for this request; nothing was changed',
    advice:
      'Send the request without an Idempotency-Key. The message gives the reason: the plants are distributed over several servers, or the response to a PATCH is too long to be stored; then PUT works.',
    example:
      'The response would exceed 64 KiB, which is too long to be stored for the Idempotency-Key; nothing was changed. Use PUT, or send no key.',
  },
});

/** @returns undefined for an error that is not about keys */
export const toIdempotencyApiError = (error: unknown): ApiError | undefined => {
  if (error instanceof KeyReusedError) return new ApiError(idempotencyErrorCodes.keyReused);
  if (error instanceof ResponseTooLongError) return new ApiError(idempotencyErrorCodes.keyNotSupported);
  return undefined;
};
