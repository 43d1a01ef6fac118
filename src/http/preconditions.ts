import { hash } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { StoreError } from '../errors.ts';
import { sendBytes } from './send-json.ts';

/**
 * Parses If-Match and If-None-Match (RFC 9110 §13.1). Cache-Control does not change their effect.
 * @returns the entity tags of which one must, and none may, be that of the stored version. `*`: any; undefined: any will do
 */
export const parsePreconditions = ({ headers }: Pick<Request, 'headers'>) => {
  const [match, noneMatch] = [tagsOf(headers['if-match']), tagsOf(headers['if-none-match'])];
  return {
    // Strong comparison (§13.1.1): a weak tag matches nothing.
    ifMatch: match === '*' ? undefined : match?.filter((tag) => !tag.startsWith('W/')),
    // Weak comparison (§13.1.2).
    ifNoneMatch: noneMatch === '*' ? noneMatch : noneMatch?.map((tag) => tag.replace(/^W\//, '')),
  };
};

/** Evaluates the preconditions of a GET or HEAD request (RFC 9110 §13.2.2): notModified means 304, failed 412. */
export const evaluatePreconditions = (request: Pick<Request, 'headers'>, entityTag: string) => {
  const { ifMatch, ifNoneMatch } = parsePreconditions(request);
  if (ifMatch && !ifMatch.includes(entityTag)) return 'failed';
  return ifNoneMatch === '*' || ifNoneMatch?.includes(entityTag) ? 'notModified' : 'met';
};

/** List members that are not entity tags (RFC 9110 §8.8.3) are skipped. */
const tagsOf = (list?: string): string[] | '*' | undefined => {
  if (list === undefined) return undefined;
  return list.trim() === '*' ? '*' : Array.from(list.matchAll(MEMBER), ([, tag = '']) => tag);
};

/** An entity tag between commas. The tag itself may contain commas. */
const MEMBER = /(?<=^|,)[ \t]*((?:W\/)?"[^"]*")[ \t]*(?=,|$)/g;

/** `type`: a media type or a file extension. */
type FixedContent = { type: string; body: string | Buffer; headers: Record<string, string> };

/**
 * Responds with content that is fixed while the process runs. Clients may cache it, but must revalidate it with its
 * ETag, because another release may serve the same URL: 304 if it is unchanged (RFC 9110 §15.4.5).
 */
export const createFixedContent = ({ type, body, headers }: FixedContent): RequestHandler => {
  const bytes = Buffer.from(body);
  const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return (request, response) => {
    const outcome = evaluatePreconditions(request, tag);
    if (outcome === 'failed') throw new StoreError('preconditionFailed', `${request.path} does not match If-Match.`);
    response.set({ ...headers, 'Cache-Control': 'no-cache', ETag: tag });
    if (outcome === 'notModified') response.status(304).end();
    else sendBytes(response.type(type), bytes);
  };
};
