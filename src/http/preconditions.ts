import { hash } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { commonErrors } from './common-errors.ts';
import { sendBytes } from './send-json.ts';

/**
 * Parses If-Match and If-None-Match. Cache-Control does not change their effect.
 * @returns a function that evaluates them for an entity tag (RFC 9110 §13.2.2): notModified means 304, failed 412.
 * Undefined if any stored plant meets them
 */
export const parsePreconditions = ({ method, headers }: Pick<Request, 'method' | 'headers'>) => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if ((ifMatch === undefined || ifMatch.trim() === '*') && ifNoneMatch === undefined) return undefined;
  return (entityTag: string) => {
    // Strong comparison (§13.1.1): a weak tag matches nothing.
    if (ifMatch !== undefined && !matches(ifMatch, (tag) => tag === entityTag)) return 'failed';
    // Weak comparison (§13.1.2).
    if (ifNoneMatch === undefined || !matches(ifNoneMatch, (tag) => tag.replace(/^W\//, '') === entityTag))
      return 'met';
    return method === 'GET' || method === 'HEAD' ? 'notModified' : 'failed';
  };
};

/** `*` matches any tag. List members that are not entity tags (RFC 9110 §8.8.3) are skipped. */
const matches = (list: string, isMatch: (tag: string) => boolean): boolean =>
  list.trim() === '*' || list.matchAll(MEMBER).some(([, tag = '']) => isMatch(tag));

/** An entity tag between commas. The tag itself may contain commas. */
const MEMBER = /(?<=^|,)[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/g;

/** `type`: a media type or a file extension. */
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
    else sendBytes(response.type(type), bytes);
  };
};
