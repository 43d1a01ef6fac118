import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { ApiError } from './api-error.ts';
import { commonErrors } from './common-errors.ts';

/** If one of these is repeated, Node.js keeps the first, while a proxy may keep the last. */
const SINGLE_HEADERS = ['host', 'authorization', 'content-type'];

/** `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2). */
const HOST = /^(\[[\da-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * Rejects requests that a proxy and this service may interpret differently: HTTP/1.1 with a missing or invalid Host
 * (RFC 9112 §3.2), or with a repeated header that must be single.
 */
export const checkHeaders: RequestHandler = (request, response, next) => {
  const problem = findProblem(request);
  if (problem === undefined) return next();
  response.setHeader('Connection', 'close');
  throw new ApiError(commonErrors.requestNotHttp, problem);
};

const findProblem = (request: IncomingMessage): string | undefined => {
  const { host } = request.headers;
  if (host === undefined && request.httpVersion !== '1.0') return 'The Host header is missing.';
  if (host !== undefined && !HOST.test(host)) return 'The Host header is not a host with an optional port.';
  const name = findRepeated(request);
  return name && `There is more than one ${name} header.`;
};

const findRepeated = ({ rawHeaders }: IncomingMessage): string | undefined => {
  const seen: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const lowerCase = name.toLowerCase();
    if (!SINGLE_HEADERS.includes(lowerCase)) continue;
    if (seen.includes(lowerCase)) return name;
    seen.push(lowerCase);
  }
  return undefined;
};
