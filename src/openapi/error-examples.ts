import type { FieldError } from '../http/api-error.ts';
import type { ErrorKind } from '../http/error-codes.ts';

type ErrorExample = { when: string; message: string; errors?: FieldError[] };

/** When each Error is answered, and what it then says. */
export const errorExamples: Record<ErrorKind, ErrorExample> = {
  bodyNotJson: {
    when: 'the body is not JSON, or not UTF-8',
    message: 'The body is empty and should be a JSON object.',
  },
  mediaTypeNotSupported: {
    when: 'the content type or encoding is not supported',
    message: 'The Content-Type should be application/json.',
  },
  bodyTooLarge: { when: 'the body is too large', message: 'The body should be at most 1048576 bytes.' },
  fieldWrong: {
    when: 'a field is missing or wrong',
    message: 'name is required.',
    errors: [{ pointer: '/name', message: 'is required' }],
  },
  idTaken: { when: 'the id is taken', message: 'The id 17 is taken.' },
  parameterWrong: {
    when: 'a parameter of the path or the query is wrong',
    message: 'The parameter limit should be an integer from 1 to 1000.',
  },
  requestNotHttp: {
    when: 'the request is not valid HTTP/1.1',
    message: 'The request is not valid HTTP/1.1, or its header is too large.',
  },
  tokenMissing: {
    when: 'there is no token',
    message: 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.',
  },
  tokenNotValid: {
    when: 'the token is wrong, expired or revoked',
    message: 'The token is wrong, expired or revoked.',
  },
  scopeMissing: { when: 'the token lacks the scope', message: 'The token lacks the scope plants:write.' },
  pathUnknown: { when: 'there is no such path', message: 'There is nothing at /plans.' },
  plantUnknown: { when: 'there is no such plant', message: 'There is no plant with the id 17.' },
  methodNotAllowed: {
    when: 'the path does not have the method',
    message: 'DELETE is not allowed here; use GET, HEAD, POST, OPTIONS.',
  },
  requestTooSlow: {
    when: 'the request took too long to arrive',
    message: 'The request took too long to arrive.',
  },
  preconditionFailed: {
    when: 'what is stored is not as If-Match or If-None-Match demands; nothing was changed',
    message: "The plant with the id 17 is not as the request's preconditions demand.",
  },
  tooManyRequests: {
    when: 'too many requests came with this token, or too many wrong tokens from this address',
    message: 'More than 600 requests in 60 s; try again in 30 s.',
  },
  overloaded: {
    when: 'more waits than the store takes on; this request changed nothing',
    message: 'The store is overloaded; try again later.',
  },
  databaseUnreachable: {
    when: 'the database cannot be reached, or was lost meanwhile',
    message: 'The database cannot be reached; try again later.',
  },
  databaseNotMigrated: {
    when: 'the database is not migrated',
    message: 'The database is not migrated; run: plant-store migrate',
  },
  identityProviderUnreachable: {
    when: 'the identity provider does not give the keys that the token is checked with',
    message: 'The identity provider does not give the keys that the token is checked with; try again later.',
  },
  stopping: { when: 'the store is stopping', message: 'The store is stopping; send requests to another one.' },
  internal: { when: 'the store has a fault', message: 'The store failed; its log says why.' },
};
