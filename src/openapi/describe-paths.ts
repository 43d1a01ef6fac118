import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { capitalize, type ErrorCode, type ErrorKind, errors, StoreError } from '../errors.ts';
import { toErrorResponse } from '../http/error-response.ts';
import {
  type Content,
  type HeaderName,
  headersOf,
  json,
  type Parameter,
  parametersOf,
  type Reference,
  type Response,
  reference,
} from './openapi.ts';

/** A feature's description of an operation. `describePaths` adds the errors that operations share. */
export type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  /** Set by `describeAt` only, for paths that are not below the base path. */
  servers?: { url: string; description: string }[];
  /** The scopes that the token needs. Undefined: no token is needed. */
  scopes?: string[];
  parameters?: Parameter[];
  body?: Content;
  /** The success responses by status. `headers`: in addition to those of the status. */
  responses: Record<number, { description: string; headers?: HeaderName[]; content?: Content }>;
  /** In addition to the shared ones. */
  errors?: ErrorCode[];
};

/** Operations by path and method. */
export type Paths = Record<string, Record<string, Operation>>;

/** The operations with a tag. */
export type Group = { name: string; description: string; paths: Paths };

/** Errors that every request may cause. */
export const HTTP_ERRORS = [errors.requestNotHttp, errors.requestTooSlow, errors.internal];
/** Errors of every operation with a body. */
const BODY_ERRORS = [errors.bodyNotJson, errors.mediaTypeNotSupported, errors.bodyTooLarge, errors.fieldWrong];
/** Errors of every operation that needs a token, including those of token lookups and rate limits. */
const TOKEN_ERRORS = [
  ...[errors.tokenMissing, errors.tokenNotValid, errors.scopeMissing, errors.identityProviderUnreachable],
  ...[errors.tooManyRequests, errors.overloaded, errors.databaseUnreachable, errors.databaseNotMigrated],
];

/**
 * The paths of an OpenAPI document (OpenAPI 3.1.1 §4.8.8), complete with tags and errors; and the responses, by name, to
 * which they refer.
 */
export const describePaths = (groups: readonly Group[]) => {
  const shared = describeErrors([...TOKEN_ERRORS, ...HTTP_ERRORS]);

  const complete = (tag: string, { scopes, body, errors: others = [], responses: own, ...operation }: Operation) => {
    const all = [...(body ? BODY_ERRORS : []), ...(scopes ? TOKEN_ERRORS : []), ...others, ...HTTP_ERRORS];
    const responses: Record<string, Response | Reference> = mapValues(own, ({ headers = [], ...response }, status) => ({
      ...response,
      headers: headersOf(Number(status), headers),
    }));
    for (const [status, error] of Object.entries(describeErrors(all))) {
      const ownResponse = own[Number(status)];
      // The description names every code, so it tells whether the errors are the same.
      const isShared = error.description === shared[status]?.description;
      if (ownResponse) responses[status] = either(ownResponse, error);
      else responses[status] = isShared ? reference('responses', nameOf(status)) : error;
    }
    const requestBody = body && { required: true, content: body };
    const security = scopes ? [{ bearerAuth: scopes }] : [];
    return { ...operation, tags: [tag], security, ...(requestBody && { requestBody }), responses };
  };

  const described = groups.map(({ name, paths }) =>
    mapValues(paths, (operations) => mapValues(operations, (operation) => complete(name, operation))),
  );
  return {
    paths: Object.assign({}, ...described) as (typeof described)[number],
    responses: Object.fromEntries(Object.entries(shared).map(([status, error]) => [nameOf(status), error])),
  };
};

const mapValues = <From, To>(record: Record<string, From>, map: (value: From, key: string) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));

const nameOf = (status: string) => (STATUS_CODES[status] ?? status).replaceAll(' ', '');

/** A status whose body is one of the operation's own, or an Error. */
const either = (own: Operation['responses'][number], error: Response): Response => {
  const bodies = [own, error].flatMap(({ content }) => content?.['application/json'] ?? []);
  const schema = { anyOf: bodies.flatMap((body) => body.schema ?? []) };
  const content = json(schema, Object.assign({}, ...bodies.map(({ examples }) => examples)));
  return {
    ...error,
    description: `${own.description} ${error.description}`,
    content: { ...error.content, ...content },
  };
};

/** Error responses by status. */
export const describeErrors = (all: readonly ErrorCode[]): Record<string, Response> =>
  Object.fromEntries(
    [...Map.groupBy(new Set(all), ({ status }) => status)].map(([status, group]) => [
      status,
      {
        description: group.map(({ code, when }) => `${capitalize(when)} (${code}).`).join(' '),
        // RFC 9110 §15.5.16
        headers: headersOf(status, group.includes(errors.mediaTypeNotSupported) ? ['Accept', 'Accept-Encoding'] : []),
        content: {
          ...json('Error', exampleReferences('Error', group)),
          'application/problem+json': {
            schema: reference('schemas', 'Problem'),
            examples: exampleReferences('Problem', group),
          },
        },
      },
    ]),
  );

const exampleReferences = (schema: 'Error' | 'Problem', group: ErrorCode[]) =>
  Object.fromEntries(group.map(({ kind }) => [kind, reference('examples', `${kind}.${schema}`)]));

/** The examples to which the responses refer. */
export const describeExamples = (all: readonly ErrorCode[]) =>
  Object.fromEntries(
    all.flatMap((error) => {
      const summary = `${error.code}: ${error.title}`;
      const example = exampleOf(error);
      return [
        [`${error.kind}.Error`, { summary, value: example.body }],
        [`${error.kind}.Problem`, { summary, value: example.toProblem('') }],
      ];
    }),
  );

/** An example of a response with this error. */
export const exampleOf = ({ kind, exampleFields: fields }: ErrorCode) =>
  toErrorResponse(new StoreError(kind as ErrorKind, undefined, { fields }));

/** The parameters of a conditional request (RFC 9110 §13.1). */
export const preconditions = parametersOf(
  'header',
  z.object({
    'If-Match': z.string().describe('ETags, or `*`. Unless one is current, the response is 412.'),
    'If-None-Match': z
      .string()
      .describe('ETags, or `*`. If one is current, the response to a GET is 304, and to a change 412.'),
  }),
);

export const notModified: Operation['responses'][number] = {
  description: 'Not modified: an ETag in If-None-Match is current.',
  headers: ['ETag'],
};
