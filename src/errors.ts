import { z } from 'zod';

/** One wrong field of a request. */
export const fieldErrorSchema = z.object({
  pointer: z.string().describe('The field as a JSON Pointer (RFC 6901); empty for the whole body.'),
  detail: z.string().describe('What the field must be.'),
});
type FieldError = z.infer<typeof fieldErrorSchema>;

/** One kind of error. The OpenAPI document and the page /docs/errors are generated from it. */
export type ErrorCode = {
  /** The name in the code and in the examples of the OpenAPI document. */
  kind: string;
  /** Stable and never reused. */
  code: number;
  status: number;
  /** A summary that is the same each time (RFC 9457 §3.1.3). By default, the kind in words. */
  title: string;
  /** Completes the sentence "The service responds with this error when …". */
  when: string;
  /** What the client should do, in whole sentences. */
  advice: string;
  /** Also the message of an error that has none of its own. By default, `when` as a sentence. */
  example: string;
  exampleFields?: FieldError[];
  /** False for a 5xx that load causes: it is logged as a warning, without a stack. */
  isFault?: boolean;
};

type Definition = Omit<ErrorCode, 'kind' | 'title' | 'example'> & { title?: string; example?: string };

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Completes the definitions of errors, which are keyed by their kind. */
const defineErrors = <Kind extends string>(table: Record<Kind, Definition>) =>
  Object.fromEntries(
    Object.entries<Definition>(table).map(([kind, error]) => {
      const title = capitalize(kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
      return [kind, { kind, title, example: `${capitalize(error.when)}.`, ...error }];
    }),
  ) as Record<Kind, ErrorCode & { kind: Kind }>;

/** Every error that the service responds with, in the order of codes. docs/reference/errors.md is made from it. */
export const errors = defineErrors({
  bodyNotJson: {
    code: 1000,
    status: 400,
    title: 'Body is not JSON',
    when: 'the body is not JSON, or not UTF-8',
    advice:
      'Send one JSON object in UTF-8; for an import, the format and the charset that Content-Type names. The message says what could not be read.',
    example: 'The body is empty and must be a JSON object.',
  },
  mediaTypeNotSupported: {
    code: 1001,
    status: 400,
    title: 'Content type or encoding not supported',
    when: 'the content type or encoding is not supported',
    advice:
      'Send application/json, application/merge-patch+json with PATCH, or application/x-ndjson or text/csv for an import. Compress with gzip, deflate or br, or not at all.',
    example: 'The Content-Type must be application/json, not "text/plain".',
  },
  bodyTooLarge: {
    code: 1002,
    status: 400,
    when: 'the body is too large',
    advice: 'Send a smaller body. The message states the limit: bytes after decompression, or JSON values.',
    example: 'The body must be at most 1048576 bytes.',
  },
  fieldWrong: {
    code: 1003,
    status: 400,
    title: 'Field missing or wrong',
    when: 'a field is missing or wrong',
    advice:
      'Correct every field in the message. Problem details also list them as JSON Pointers, in errors. If the message names none, the ' +
      'operator of the service has added a rule to its database that rejects such plants.',
    example: 'name is required.',
    exampleFields: [{ pointer: '/name', detail: 'is required' }],
  },
  idTaken: {
    code: 1004,
    status: 400,
    when: 'the id is taken',
    advice:
      'Choose another id, or change the stored plant with PUT or PATCH. If an earlier request with this id got no response, read the plant: it may be yours.',
    example: 'The id 17 is taken.',
  },
  parameterWrong: {
    code: 1005,
    status: 400,
    when: 'a parameter of the path or the query is wrong',
    advice: 'Correct every parameter in the message. Use links to next pages unchanged.',
    example: 'The parameter limit must be an integer from 1 to 1000, not "0".',
  },
  requestNotHttp: {
    code: 1006,
    status: 400,
    title: 'Request is not valid HTTP',
    when: 'the request is not valid HTTP/1.1',
    advice:
      'Check the client and the proxies in front of the service: the request line, Host, Content-Length and the size of the header.',
  },
  tokenMissing: {
    code: 1100,
    status: 401,
    when: 'there is no token',
    advice: 'Send the header Authorization: Bearer <ACCESS_TOKEN>. Ask the operator of the service for a token.',
    example: 'A token is required: Authorization: Bearer <ACCESS_TOKEN>.',
  },
  tokenNotValid: {
    code: 1101,
    status: 401,
    when: 'the token is wrong, expired or revoked',
    advice: 'Use another token. Do not retry with this one.',
  },
  scopeMissing: {
    code: 1102,
    status: 403,
    when: 'the token lacks a scope',
    advice: 'Use a token with all scopes in the WWW-Authenticate header.',
    example: 'The token lacks the scope plants:write.',
  },
  pathUnknown: {
    code: 1200,
    status: 404,
    title: 'No such path',
    when: 'there is no such path',
    advice: 'Check the path and the base path of the service. Paths are case-sensitive, and a trailing slash matters.',
    example: 'There is nothing at /plans.',
  },
  plantUnknown: {
    code: 1201,
    status: 404,
    title: 'No such plant',
    when: 'there is no such plant',
    advice: 'Check the id. Only POST /plants creates a plant; PUT and PATCH do not.',
    example: 'There is no plant with the id 17.',
  },
  methodNotAllowed: {
    code: 1202,
    status: 405,
    when: 'the path does not support the method',
    advice: 'Use a method from the Allow header.',
    example: 'PUT is not allowed here; use GET, HEAD, POST, PATCH, DELETE, OPTIONS.',
  },
  requestTooSlow: {
    code: 1203,
    status: 408,
    when: 'the request took too long to arrive',
    advice: 'Send the whole request again without pauses. It had no effect, unless the message says otherwise.',
  },
  preconditionFailed: {
    code: 1204,
    status: 412,
    when: 'the condition in If-Match or If-None-Match is not met; nothing was changed',
    advice:
      'Read the resource again, decide whether the request still makes sense, and send it with the new ETag. An ETag that a proxy ' +
      'made weak (W/"…") or changed ("…-gzip") never matches: the proxy must not compress responses.',
    example: 'The plant with the id 17 does not meet the preconditions of the request.',
  },
  keyInvalid: {
    code: 1300,
    status: 400,
    title: 'Idempotency-Key not valid',
    when: 'the Idempotency-Key is not valid',
    advice:
      'Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID. Quotes around it are optional.',
    example:
      'The Idempotency-Key is "a b" and must be 1 to 255 visible ASCII characters, in double quotes or without any.',
  },
  keyReused: {
    code: 1301,
    status: 422,
    title: 'Idempotency-Key used for another request',
    when: 'the Idempotency-Key came with another request before',
    advice:
      'Use a new key for each change. To repeat a request, send it with the same method, path, body and preconditions.',
    example: 'This Idempotency-Key came with another request before. Use a new key for each change.',
  },
  keyNotSupported: {
    code: 1303,
    status: 400,
    title: 'Idempotency-Key not supported here',
    when: 'an Idempotency-Key is not supported for this request; nothing was changed',
    advice:
      'Send the request without an Idempotency-Key. The message gives the reason: the plants are distributed over several servers, the request changes many plants by a filter, or the response to a PATCH is too long to be stored; then PUT works.',
    example:
      'The response would exceed 64 KiB, which is too long to be stored for the Idempotency-Key; nothing was changed. Use PUT, or send no key.',
  },
  tooManyRequests: {
    code: 1400,
    status: 429,
    when: 'too many requests came with this token or from this address',
    advice: 'Wait for the seconds in the Retry-After header, and send fewer requests.',
    example: 'More than 600 requests in 60 s; try again in 30 s.',
  },
  overloaded: {
    code: 1500,
    status: 503,
    isFault: false,
    when: 'too many requests are waiting, or data is locked for too long; this one changed nothing',
    advice: 'Retry after the seconds in the Retry-After header, and wait longer each time.',
    example: 'Too many requests are waiting for the database. Try again later.',
  },
  databaseUnreachable: {
    code: 1501,
    status: 503,
    when: 'the database cannot be reached, or was lost during the request',
    advice:
      'Retry after the seconds in the Retry-After header. If the message says that the outcome is unknown, the change may have been made: send the request again with its Idempotency-Key. If it has none, code 1004 then means that a POST stored the plant.',
    example: 'The database cannot be reached. Try again later.',
  },
  databaseNotMigrated: {
    code: 1502,
    status: 503,
    when: 'the database is not migrated',
    advice:
      'The operator of the service must run: plant-store migrate. If the message names a privilege or a policy, the role of the service needs it.',
    example: 'The database is not migrated. Run: plant-store migrate',
  },
  identityProviderUnreachable: {
    code: 1503,
    status: 503,
    when: 'the keys that verify the token cannot be fetched from the identity provider',
    advice: 'Retry after the seconds in the Retry-After header. The token may be valid.',
    example: 'The keys that verify the token cannot be fetched from the identity provider. Try again later.',
  },
  stopping: {
    code: 1504,
    status: 503,
    isFault: false,
    when: 'the service is stopping (only from /readyz and imports)',
    advice: 'Send requests to another instance. For an import, the message says what is stored.',
    example: 'The service is stopping. Send requests to another instance.',
  },
  searchTooSlow: {
    code: 1505,
    status: 503,
    isFault: false,
    when: 'the search took too long, or the change of many plants, which changed nothing',
    advice:
      'Search for a tag alone, which has an index. The operator can create an index that speeds up searches by name: plant-store search-index create. Add a limit to a change of many plants, and repeat it. The database is healthy.',
    example:
      'The search took too long. A search for a tag alone is fast. The operator can speed up others: plant-store search-index create.',
  },
  internal: {
    code: 1599,
    status: 500,
    title: 'Internal error',
    when: 'the service has a bug, or lacks a database privilege',
    advice: 'Report the X-Request-Id of the response to the operator. The log has the cause.',
    example: 'Internal error. The log has the cause.',
  },
});

export type ErrorKind = keyof typeof errors;

type StoreErrorOptions = {
  headers?: Record<string, string> | undefined;
  fields?: FieldError[] | undefined;
  cause?: unknown;
};

/** Why a request has no success. The message is for clients, over HTTP as on the command line. */
export class StoreError extends Error {
  /** The kind, as the name of a DOMException is. */
  override readonly name: ErrorKind;
  readonly kind: ErrorKind;
  /** Of the response, besides those that every response with its status has. */
  readonly headers: Record<string, string> | undefined;
  readonly fields: FieldError[] | undefined;

  constructor(kind: ErrorKind, message = errors[kind].example, { headers, fields, cause }: StoreErrorOptions = {}) {
    super(message, { cause });
    this.name = kind;
    this.kind = kind;
    this.headers = headers;
    this.fields = fields;
  }

  get code(): number {
    return errors[this.kind].code;
  }
}

export const isOfKind = (error: unknown, ...kinds: ErrorKind[]): error is StoreError =>
  error instanceof StoreError && kinds.includes(error.kind);

/** Not a bug, so no stack trace is printed: `message` says what is wrong and what to do. */
export class OperationalError extends Error {
  override name = 'OperationalError';
}
