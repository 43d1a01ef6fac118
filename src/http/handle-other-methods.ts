import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { commonErrors } from './common-errors.ts';

/**
 * The last handler of a path. Responds to OPTIONS with the supported methods (RFC 9110 §9.3.7), without a token, and to
 * any other method with 405 (§15.5.6).
 */
export const handleOtherMethods =
  (headers: { Allow: string; 'Accept-Patch'?: string }): RequestHandler =>
  (request, response) => {
    if (request.method !== 'OPTIONS') {
      const message = `${request.method} is not allowed here; use ${headers.Allow}.`;
      throw new ApiError(commonErrors.methodNotAllowed, message, { headers });
    }
    response.set(headers).status(204).end();
  };
