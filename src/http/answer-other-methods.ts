import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';

/**
 * The last handler of a path. OPTIONS is answered with what the path has (RFC 9110 §9.3.7), which needs no token; any
 * other method with 405 (§15.5.6).
 */
export const answerOtherMethods =
  (headers: { Allow: string; 'Accept-Patch'?: string }): RequestHandler =>
  (request, response) => {
    if (request.method !== 'OPTIONS') {
      const message = `${request.method} is not allowed here; use ${headers.Allow}.`;
      throw new ApiError('methodNotAllowed', message, { headers });
    }
    response.set(headers).status(204).end();
  };
