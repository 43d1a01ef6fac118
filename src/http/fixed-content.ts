import { hash } from 'node:crypto';
import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { commonErrors } from './common-errors.ts';
import { parsePreconditions } from './preconditions.ts';
import { sendBytes } from './send-json.ts';

type FixedContent = { type: string; body: string | Buffer; headers?: Record<string, string> };

/**
 * Responds with content that is fixed while the process runs. Clients may cache it, but must revalidate it with its
 * ETag, because another release may serve the same URL: 304 if it is unchanged (RFC 9110 §15.4.5).
 */
export const createFixedContent = ({ type, body, headers = {} }: FixedContent): RequestHandler => {
  const bytes = Buffer.from(body);
  const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return (request, response) => {
    const outcome = parsePreconditions(request)?.(tag);
    if (outcome === 'failed')
      throw new ApiError(commonErrors.preconditionFailed, `${request.path} does not match If-Match.`);
    response.set({ ...headers, 'Cache-Control': 'no-cache', ETag: tag });
    if (outcome === 'notModified') response.status(304).end();
    else sendBytes(response.set('Content-Type', type), bytes);
  };
};
