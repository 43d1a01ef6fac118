import { type HeaderName, headersOf } from './headers.ts';
import type { Parameter, Response } from './openapi.ts';

/** The header of a request for a certain version (RFC 9110 §13.1.1). */
export const ifMatch: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'The ETags of which the answer must have one, or `*`; 412 otherwise (RFC 9110 §13.1.1).',
  schema: { type: 'string' },
};

/** The header of a request that has the answer already (RFC 9110 §13.1.2). */
export const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETags of the answers that the client has, or `*`; 304 where one is current (RFC 9110 §13.1.2).',
  schema: { type: 'string' },
};

export const notModified = (...own: HeaderName[]): Response => ({
  description: 'It is still what the client has, as If-None-Match says.',
  headers: headersOf(304, 'ETag', ...own),
});
