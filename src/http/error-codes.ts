import type { FieldError } from './error-schema.ts';

type ErrorDescription = {
  /** Stable, and never used again for something else. */
  code: number;
  status: number;
  /** A summary that is the same each time (RFC 9457 §3.1.3). */
  title: string;
  /** When the store answers with this error: completes the sentence "It is answered when …". */
  when: string;
  /** What the client should do, in whole sentences. */
  advice: string;
  /** What the error says in an example. */
  example: { message: string; fields?: FieldError[] };
};

const descriptions = {
  bodyNotJson: {
    code: 1000,
    status: 400,
    title: 'Body is not JSON',
    when: 'the body is not JSON, or not UTF-8',
    advice: 'Send one JSON object in UTF-8. The message says what the parser did not expect.',
    example: { message: 'The body is empty and should be a JSON object.' },
  },
  mediaTypeNotSupported: {
    code: 1001,
    status: 400,
    title: 'Content type or encoding not supported',
    when: 'the content type or encoding is not supported',
    advice:
      'Send application/json, or application/merge-patch+json with PATCH. Compress with gzip, deflate or br, or not at all.',
    example: { message: 'The Content-Type should be application/json.' },
  },
  bodyTooLarge: {
    code: 1002,
    status: 400,
    title: 'Body too large',
    when: 'the body is too large',
    advice: 'Send less. The message says how large a body may be after decompression, or how many values it may have.',
    example: { message: 'The body should be at most 1048576 bytes.' },
  },
  fieldWrong: {
    code: 1003,
    status: 400,
    title: 'Field missing or wrong',
    when: 'a field is missing or wrong',
    advice: 'Correct every field that the message names. Problem details also list them as JSON Pointers, in errors.',
    example: { message: 'name is required.', fields: [{ pointer: '/name', detail: 'is required' }] },
  },
  idTaken: {
    code: 1004,
    status: 400,
    title: 'Id taken',
    when: 'the id is taken',
    advice:
      'Choose another id, or change the stored plant with PUT or PATCH. If an earlier request with this id was not answered, read the plant: it may be yours.',
    example: { message: 'The id 17 is taken.' },
  },
  parameterWrong: {
    code: 1005,
    status: 400,
    title: 'Parameter wrong',
    when: 'a parameter of the path or the query is wrong',
    advice: 'Correct every parameter that the message names. Follow links to next pages as they are.',
    example: { message: 'The parameter limit should be an integer from 1 to 1000.' },
  },
  requestNotHttp: {
    code: 1006,
    status: 400,
    title: 'Request is not valid HTTP',
    when: 'the request is not valid HTTP/1.1',
    advice:
      'Check the client and the proxies in front of the store: request line, Host, length and size of the header.',
    example: { message: 'The request is not valid HTTP/1.1, or its header is too large.' },
  },
  tokenMissing: {
    code: 1100,
    status: 401,
    title: 'Token missing',
    when: 'there is no token',
    advice: 'Send the header Authorization: Bearer <ACCESS_TOKEN>. Ask the operator of the store for a token.',
    example: { message: 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.' },
  },
  tokenNotValid: {
    code: 1101,
    status: 401,
    title: 'Token not valid',
    when: 'the token is wrong, expired or revoked',
    advice: 'Use another token. Do not retry with this one.',
    example: { message: 'The token is wrong, expired or revoked.' },
  },
  scopeMissing: {
    code: 1102,
    status: 403,
    title: 'Scope missing',
    when: 'the token lacks a scope',
    advice: 'Use a token with all scopes that the WWW-Authenticate header names.',
    example: { message: 'The token lacks the scope plants:write.' },
  },
  pathUnknown: {
    code: 1200,
    status: 404,
    title: 'No such path',
    when: 'there is no such path',
    advice: 'Check the path and the base path of the store. Upper and lower case and slashes at the end count.',
    example: { message: 'There is nothing at /plans.' },
  },
  plantUnknown: {
    code: 1201,
    status: 404,
    title: 'No such plant',
    when: 'there is no such plant',
    advice: 'Check the id. Only POST /plants creates a plant; PUT and PATCH do not.',
    example: { message: 'There is no plant with the id 17.' },
  },
  methodNotAllowed: {
    code: 1202,
    status: 405,
    title: 'Method not allowed',
    when: 'the path does not have the method',
    advice: 'Use a method that the Allow header names.',
    example: { message: 'DELETE is not allowed here; use GET, HEAD, POST, OPTIONS.' },
  },
  requestTooSlow: {
    code: 1203,
    status: 408,
    title: 'Request too slow',
    when: 'the request took too long to arrive',
    advice: 'Send it again, all of it at once. The store has not acted on it.',
    example: { message: 'The request took too long to arrive.' },
  },
  preconditionFailed: {
    code: 1204,
    status: 412,
    title: 'Precondition failed',
    when: 'what is stored is not as If-Match or If-None-Match demands; nothing was changed',
    advice: 'Read it again, decide whether the request still makes sense, and send it with the new ETag.',
    example: { message: "The plant with the id 17 is not as the request's preconditions demand." },
  },
  tooManyRequests: {
    code: 1400,
    status: 429,
    title: 'Too many requests',
    when: 'too many requests came with this token or from this address',
    advice: 'Wait as many seconds as the Retry-After header says, and send fewer requests.',
    example: { message: 'More than 600 requests in 60 s; try again in 30 s.' },
  },
  overloaded: {
    code: 1500,
    status: 503,
    title: 'Overloaded',
    when: 'more requests wait than the store accepts; this one changed nothing',
    advice: 'Retry after as many seconds as the Retry-After header says, and wait longer each time.',
    example: { message: 'The store is overloaded; try again later.' },
  },
  databaseUnreachable: {
    code: 1501,
    status: 503,
    title: 'Database unreachable',
    when: 'the database cannot be reached, or was lost during the request',
    advice:
      'Retry after as many seconds as the Retry-After header says. The message says whether a change may have been made; if so, read the plant first.',
    example: { message: 'The database cannot be reached; try again later.' },
  },
  databaseNotMigrated: {
    code: 1502,
    status: 503,
    title: 'Database not migrated',
    when: 'the database is not migrated',
    advice: 'The operator of the store has to run: plant-store migrate',
    example: { message: 'The database is not migrated; run: plant-store migrate' },
  },
  identityProviderUnreachable: {
    code: 1503,
    status: 503,
    title: 'Identity provider unreachable',
    when: 'the identity provider does not give the keys that the token is checked with',
    advice: 'Retry after as many seconds as the Retry-After header says. The token may be fine.',
    example: {
      message: 'The identity provider does not give the keys that the token is checked with; try again later.',
    },
  },
  stopping: {
    code: 1504,
    status: 503,
    title: 'Stopping',
    when: 'the store is stopping; only /readyz says so',
    advice: 'Send requests to another instance of the store.',
    example: { message: 'The store is stopping; send requests to another one.' },
  },
  searchTooSlow: {
    code: 1505,
    status: 503,
    title: 'Search too slow',
    when: 'the search took too long',
    advice:
      'Narrow the search, for example with three or more characters of the name, or with a tag. The database is well.',
    example: {
      message:
        'The search took too long; narrow it, for example with three or more characters of the name, or with a tag.',
    },
  },
  internal: {
    code: 1599,
    status: 500,
    title: 'Internal error',
    when: 'the store has a fault',
    advice: 'Give the operator of the store the X-Request-Id of the answer. The log has the cause.',
    example: { message: 'The store failed; its log says why.' },
  },
} satisfies Record<string, ErrorDescription>;

export type ErrorKind = keyof typeof descriptions;

/**
 * Every error that the store answers with: the only place that says what it means. The OpenAPI document and the pages under
 * /docs/errors/ are made from this table, and README.md is checked against it.
 */
export const errorCodes: Record<ErrorKind, ErrorDescription> = descriptions;
