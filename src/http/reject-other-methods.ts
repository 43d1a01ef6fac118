import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';

/** The last handler of a path: 405 and the methods that the path has (RFC 9110 §15.5.6). */
export const rejectOtherMethods =
  (...allowed: string[]): RequestHandler =>
  (request) => {
    const methods = allowed.join(', ');
    throw new ApiError('methodNotAllowed', `${request.method} is not allowed here; use ${methods}.`, {
      headers: { Allow: methods },
    });
  };
