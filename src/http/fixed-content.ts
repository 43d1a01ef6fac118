import { hash } from 'node:crypto';
import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { parsePreconditions } from './preconditions.ts';
import { sendBytes } from './send-json.ts';

type FixedContent = { type: string; body: string | Buffer; headers?: Record<string, string> };

/**
 * Answers with what never changes while the process runs. A client may keep it, and asks with its ETag whether it is still
 * the same: 304 where it is (RFC 9110 §15.4.5), as another release may stand behind the same URL.
 */
export const createFixedContent = ({ type, body, headers = {} }: FixedContent): RequestHandler => {
  const bytes = Buffer.from(body);
  const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return (request, response) => {
    const outcome = parsePreconditions(request)?.(tag);
    if (outcome === 'failed') throw new ApiError('preconditionFailed', `${request.path} is not as If-Match demands.`);
    response.set({ ...headers, 'Cache-Control': 'no-cache', ETag: tag });
    if (outcome === 'notModified') response.status(304).end();
    else sendBytes(response.set('Content-Type', type), bytes);
  };
};
