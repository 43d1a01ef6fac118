import { ApiError } from '../http/api-error.ts';
import { type ErrorKind, errorCodes } from '../http/error-codes.ts';
import { type HeaderName, headersOf } from './headers.ts';
import { type MediaType, type Response, schemaReference } from './openapi.ts';

/** What any request can be answered with, as it is HTTP. */
const OF_HTTP: ErrorKind[] = ['requestNotHttp', 'requestTooSlow', 'internal'];

/** The headers that come with an Error of one kind, and not with others of its status. */
const headersOfKind: Partial<Record<ErrorKind, HeaderName[]>> = { mediaTypeNotSupported: ['Accept'] };

/** What all answers of an operation may have that counts requests. */
export const rateLimitHeaders: HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

/** The Errors that operations have in common; `errorResponses` takes them. */
export const errorsOf = {
  token: ['tokenMissing', 'tokenNotValid', 'scopeMissing', 'tooManyRequests', 'identityProviderUnreachable'],
  body: ['bodyNotJson', 'mediaTypeNotSupported', 'bodyTooLarge', 'fieldWrong'],
  database: ['databaseUnreachable', 'databaseNotMigrated'],
} as const satisfies Record<string, ErrorKind[]>;

/** The answers of an operation that are Errors, by status: those named, and those that any request can have. */
export const errorResponses = (...kinds: ErrorKind[]): Record<string, Response> => {
  const byStatus = Map.groupBy([...kinds, ...OF_HTTP], (kind) => errorCodes[kind].status);
  const headersOfAll = kinds.includes('tooManyRequests') ? rateLimitHeaders : [];
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [status, errorResponse(status, group, headersOfAll)]),
  );
};

/** An answer that is one of several Errors of one status. */
const errorResponse = (status: number, kinds: ErrorKind[], headersOfAll: HeaderName[]): Response => ({
  description: kinds.map(sentence).join(' '),
  headers: headersOf(status, ...headersOfAll, ...kinds.flatMap((kind) => headersOfKind[kind] ?? [])),
  content: {
    'application/json': errorMediaType('Error', kinds, (error) => error.toJSON()),
    'application/problem+json': errorMediaType('Problem', kinds, (error) => error.toProblem('')),
  },
});

const sentence = (kind: ErrorKind) => {
  const { code, when } = errorCodes[kind];
  return `${when.charAt(0).toUpperCase()}${when.slice(1)} (${code}).`;
};

const errorMediaType = (schema: string, kinds: ErrorKind[], write: (error: ApiError) => object): MediaType => ({
  schema: schemaReference(schema),
  examples: Object.fromEntries(
    kinds.map((kind) => {
      const { code, title } = errorCodes[kind];
      return [kind, { summary: `${code}: ${title}`, value: write(exampleError(kind)) }];
    }),
  ),
});

/** What the store answers in an example. */
export const exampleError = (kind: ErrorKind): ApiError => {
  const { message, fields } = errorCodes[kind].example;
  return new ApiError(kind, message, fields && { fields });
};
