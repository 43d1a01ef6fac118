import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';

/** HTTP/1.1 requires a Host (RFC 9112 §3.2); Node.js would answer its absence without an Error. */
export const requireHost: RequestHandler = (request, _response, next) => {
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    throw new ApiError('requestNotHttp', 'The Host header is missing.');
  }
  next();
};
