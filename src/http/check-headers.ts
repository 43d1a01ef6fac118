import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { StoreError } from '../errors.ts';

/** If one of these is repeated, Node.js keeps the first, while a proxy may keep the last. */
const SINGLE_HEADERS = ['Host', 'Authorization', 'Content-Type'];

/** `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2). */
const HOST = /^(\[[\da-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * Rejects requests that a proxy and this service may interpret differently: HTTP/1.1 with a missing or invalid Host
 * (RFC 9112 §3.2), a repeated header that must be single, or a transfer coding other than `chunked` (§7), which Node.js
 * would ignore.
 */
export const checkHeaders: RequestHandler = (request, response, next) => {
  const problem = findProblem(request);
  if (problem === undefined) return next();
  response.setHeader('Connection', 'close');
  throw new StoreError('requestNotHttp', problem);
};

const findProblem = ({ headers, headersDistinct, httpVersion }: IncomingMessage): string | undefined => {
  const { host, 'transfer-encoding': coding = 'chunked' } = headers;
  if (host === undefined && httpVersion !== '1.0') return 'The Host header is missing.';
  if (host !== undefined && !HOST.test(host)) return 'The Host header is not a host with an optional port.';
  if (coding.toLowerCase() !== 'chunked') return 'The Transfer-Encoding must be chunked.';
  const repeated = SINGLE_HEADERS.find((name) => (headersDistinct[name.toLowerCase()]?.length ?? 0) > 1);
  return repeated && `There is more than one ${repeated} header.`;
};
