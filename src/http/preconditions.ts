import type { Request } from 'express';

/**
 * What the request's If-Match and If-None-Match demand of the resource's entity tag before it may be changed
 * (RFC 9110 §13.1, §13.2.2); undefined where it has neither.
 */
export const parsePreconditions = ({ headers }: Request): ((entityTag: string) => boolean) | undefined => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  return (entityTag) =>
    (ifMatch === undefined || names(ifMatch, entityTag)) &&
    (ifNoneMatch === undefined || !names(ifNoneMatch.replaceAll('W/"', '"'), entityTag));
};

const names = (list: string, entityTag: string): boolean => list.trim() === '*' || entityTags(list).includes(entityTag);

const entityTags = (list: string): string[] => list.match(/(?:W\/)?"[^"]*"/g) ?? [];
