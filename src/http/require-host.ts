import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { closeAfter } from './close-in-stages.ts';

/**
 * HTTP/1.1 requires one Host (RFC 9112 §3.2). Node.js would answer its absence without an Error, and takes the first of
 * several, where a proxy may take the last.
 */
export const requireHost: RequestHandler = (request, response, next) => {
  const count = countHosts(request);
  if (count === 1 || (count === 0 && request.httpVersion === '1.0')) return next();
  closeAfter(response);
  throw new ApiError(
    'requestNotHttp',
    count === 0 ? 'The Host header is missing.' : 'There is more than one Host header.',
  );
};

const countHosts = ({ rawHeaders }: IncomingMessage): number => {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
};
