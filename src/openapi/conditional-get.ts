import { type HeaderName, headersOf } from './headers.ts';
import type { Parameter, Response } from './openapi.ts';

/** The header of a request that has the answer already (RFC 9110 §13.1.2). */
export const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of the answer that the client has (RFC 9110 §13.1.2).',
  schema: { type: 'string' },
};

export const notModified = (...own: HeaderName[]): Response => ({
  description: 'It is still what the client has, as If-None-Match says.',
  headers: headersOf(304, 'ETag', ...own),
});
