import type { Request } from 'express';

/** Whether to execute a request, or respond with 304 or 412. */
type PreconditionOutcome = 'met' | 'notModified' | 'failed';

/**
 * Parses If-Match and If-None-Match. Cache-Control does not change their effect.
 * @returns a function that evaluates them for an entity tag (RFC 9110 §13.2.2); undefined if any stored plant meets them
 */
export const parsePreconditions = ({ method, headers }: Pick<Request, 'method' | 'headers'>) => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if ((ifMatch === undefined || ifMatch.trim() === '*') && ifNoneMatch === undefined) return undefined;
  return (entityTag: string): PreconditionOutcome => {
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
