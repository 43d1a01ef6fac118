import { ApiError, type ErrorCode } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { type HeaderName, headersOf } from './headers.ts';
import { type MediaType, type Parameter, type Response, schemaReference } from './openapi.ts';

/** A feature's description of an operation. `describePaths` adds the headers and errors that operations share. */
export type Operation = {
  operationId: string;
  tags: [string];
  summary: string;
  description?: string;
  /** The scopes that the token needs. Undefined: no token is needed. */
  scopes?: string[];
  parameters?: Parameter[];
  requestBody?: { required: true; content: Record<string, MediaType> };
  /** The success responses by status. `headers`: in addition to the shared ones. */
  responses: Record<number, { description: string; headers?: HeaderName[]; content?: Record<string, MediaType> }>;
  /** In addition to the shared ones. */
  errors?: ErrorCode[];
};

type Method = 'get' | 'put' | 'post' | 'delete' | 'patch';

/** A path with its operations. `servers` is set only if the path is not below the base path. */
export type Path = { servers?: { url: string; description: string }[] } & { [method in Method]?: Operation };

/** Errors that every request may cause. */
export const HTTP_ERRORS = [commonErrors.requestNotHttp, commonErrors.requestTooSlow, commonErrors.internal];
const BODY_ERRORS = [
  commonErrors.bodyNotJson,
  commonErrors.mediaTypeNotSupported,
  commonErrors.bodyTooLarge,
  commonErrors.fieldWrong,
];
/** Headers of specific errors, by code. */
const HEADERS_OF_ERROR: Record<number, HeaderName[]> = { [commonErrors.mediaTypeNotSupported.code]: ['Accept'] };

/** Every response of an operation that needs a token may have these. */
const RATE_LIMIT_HEADERS: HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

type DescribedPath = Pick<Path, 'servers'> & { [method in Method]?: ReturnType<typeof complete> };

/**
 * The paths of an OpenAPI document (OpenAPI 3.1.1 §4.8.8), complete with headers and errors.
 * @param tokenErrors the errors of every operation that needs a token
 */
export const describePaths = (
  paths: Record<string, Path>,
  tokenErrors: readonly ErrorCode[],
): Record<string, DescribedPath> =>
  Object.fromEntries(
    Object.entries(paths).map(([path, { servers, ...operations }]) => [
      path,
      {
        ...(servers && { servers }),
        ...Object.fromEntries(
          Object.entries(operations).map(([method, operation]) => [method, complete(operation, tokenErrors)]),
        ),
      },
    ]),
  );

const complete = ({ scopes, responses, errors = [], ...operation }: Operation, tokenErrors: readonly ErrorCode[]) => {
  const shared = scopes ? RATE_LIMIT_HEADERS : [];
  const successes = Object.entries(responses).map(([status, { headers = [], ...response }]): [string, Response] => [
    status,
    { ...response, headers: headersOf(Number(status), ...shared, ...headers) },
  ]);
  const allErrors = [...(operation.requestBody ? BODY_ERRORS : []), ...(scopes ? tokenErrors : []), ...errors];
  const described = Object.fromEntries<Response>(successes);
  for (const [status, error] of Object.entries(describeErrors([...allErrors, ...HTTP_ERRORS], shared))) {
    described[status] = described[status] ? either(described[status], error) : error;
  }
  return { ...operation, security: scopes ? [{ bearerAuth: scopes }] : [], responses: described };
};

/** A status whose body is one of the operation's own, or an Error. */
const either = (own: Response, error: Response): Response => {
  const [ownBody, errorBody] = [own, error].map(({ content }) => content?.['application/json'] ?? {});
  const schema = { oneOf: [ownBody?.schema ?? {}, errorBody?.schema ?? {}] };
  const examples = { ...ownBody?.examples, ...errorBody?.examples };
  return {
    description: `${own.description} ${error.description}`,
    headers: { ...own.headers, ...error.headers },
    content: { ...error.content, 'application/json': { schema, examples } },
  };
};

/** Error responses by status. `headers`: the headers that each of them may have. */
export const describeErrors = (errors: readonly ErrorCode[], headers: HeaderName[] = []): Record<string, Response> =>
  Object.fromEntries(
    [...Map.groupBy(new Set(errors), ({ status }) => status)].map(([status, group]) => [
      status,
      {
        description: group.map(toSentence).join(' '),
        headers: headersOf(status, ...headers, ...group.flatMap(({ code }) => HEADERS_OF_ERROR[code] ?? [])),
        content: {
          'application/json': describeBody('Error', group, (error) => error.toJSON()),
          'application/problem+json': describeBody('Problem', group, (error) => error.toProblem('')),
        },
      },
    ]),
  );

const toSentence = ({ code, when }: ErrorCode) => `${when.charAt(0).toUpperCase()}${when.slice(1)} (${code}).`;

const describeBody = (schema: string, errors: ErrorCode[], write: (error: ApiError) => object): MediaType => ({
  schema: schemaReference(schema),
  examples: Object.fromEntries(
    errors.map((error) => [error.kind, { summary: `${error.code}: ${error.title}`, value: write(exampleOf(error)) }]),
  ),
});

export const exampleOf = (error: ErrorCode): ApiError =>
  new ApiError(error, error.example.message, { fields: error.example.fields });

const ifMatch: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'ETags, or `*`. The response is 412 unless one of them is the current ETag (RFC 9110 §13.1.1).',
  schema: { type: 'string' },
};

const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description:
    'ETags that the client has cached, or `*`. The response is 304 if one of them is current (RFC 9110 §13.1.2).',
  schema: { type: 'string' },
};

/** The parameters of a conditional GET. */
export const conditionalGet: Parameter[] = [ifMatch, ifNoneMatch];

export const notModified: Operation['responses'][number] = {
  description: 'Not modified: an ETag in If-None-Match is current.',
  headers: ['ETag'],
};
