import type { OpenAPIV3_1 } from 'openapi-types';
import { z } from 'zod';

export type Header = OpenAPIV3_1.HeaderObject;
type JsonSchema = OpenAPIV3_1.NonArraySchemaObject;
export type MediaType = OpenAPIV3_1.MediaTypeObject;
/** By media type. */
export type Content = Record<string, MediaType>;
/** `openapi-types` declares the schema of a parameter as in OpenAPI 3.0. */
export type Parameter = Omit<OpenAPIV3_1.ParameterObject, 'schema'> & { schema: JsonSchema };
export type Reference = OpenAPIV3_1.ReferenceObject;
export type Response = OpenAPIV3_1.ResponseObject;

type Component = 'examples' | 'headers' | 'responses' | 'schemas';

export const reference = (component: Component, name: string): Reference => ({
  $ref: `#/components/${component}/${name}`,
});

/** JSON content. `schema`: a schema, or the name of one among the components. */
export const json = (schema: NonNullable<MediaType['schema']> | string, examples?: MediaType['examples']): Content => ({
  'application/json': {
    schema: typeof schema === 'string' ? reference('schemas', schema) : schema,
    ...(examples && { examples }),
  },
});

/**
 * The JSON Schema (2020-12) of the input of a zod schema. A bigint becomes an integer with format int64. The schema
 * states no bounds: the format implies them (https://spec.openapis.org/registry/format/int64), and most JSON parsers
 * would round them.
 */
export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output' = 'input'): JsonSchema => {
  const { $schema, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
    },
  });
  return jsonSchema as JsonSchema;
};

/** The parameters that a schema parses. Their types are those of its output, because its input is text. */
export const parametersOf = (place: 'path' | 'query' | 'header', parsedBy: z.ZodObject): Parameter[] => {
  const { properties } = toJsonSchema(parsedBy, 'output') as { properties: Record<string, JsonSchema> };
  return Object.entries(properties).map(([name, { description = '', examples, ...schema }]) => ({
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    description,
    schema,
    // Swagger UI fills in only this one.
    ...(examples && { example: examples[0] }),
  }));
};

const header = (description: string, example: string | number): Header => ({
  description,
  schema: typeof example === 'number' ? { type: 'integer', minimum: 0 } : { type: 'string' },
  example,
});

/** It is in every response that lists it. */
const requiredHeader = (...args: Parameters<typeof header>): Header => ({ ...header(...args), required: true });

/** The headers of specific responses. */
export const headers = {
  Accept: header('The media type that the request body must have (RFC 9110 §15.5.16).', 'application/json'),
  'Accept-Encoding': header('The codings that the request body may have (RFC 9110 §12.5.3).', 'gzip, deflate, br'),
  'Content-Disposition': requiredHeader('The name of the file (RFC 6266).', 'attachment; filename="plants.ndjson"'),
  ETag: requiredHeader(
    'The version of the response body, for If-Match and If-None-Match (RFC 9110 §8.8.3).',
    '"x3Kq0bZ9v2o"',
  ),
  Link: header('The next page, relative to this URL (RFC 8288).', '<?limit=97&cursor=MTc>; rel="next"'),
  'Retry-After': requiredHeader('How long to wait before a retry, in seconds (RFC 9110 §10.2.3).', 1),
  'WWW-Authenticate': header(
    'How to authenticate, and why the token was rejected (RFC 6750 §3).',
    'Bearer realm="plants", error="invalid_token"',
  ),
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;

/** The headers that every response with a status may have. */
const STATUS_HEADERS: Record<number, HeaderName[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After', 'WWW-Authenticate'],
  503: ['Retry-After'],
};

/** `own`: those of the operation. */
export const headersOf = (status: number, own: readonly HeaderName[]): Record<string, Reference> =>
  Object.fromEntries([...(STATUS_HEADERS[status] ?? []), ...own].map((name) => [name, reference('headers', name)]));

/** The headers that any response may have. OpenAPI would repeat them in every response. */
export const commonHeaders = {
  'Access-Control-Allow-Origin': 'the origin whose pages may read the response',
  'Access-Control-Expose-Headers': 'the response headers that such a page may read',
  'Cache-Control': 'always present: whether the response may be cached, and whether it must be revalidated',
  'Idempotent-Replayed':
    'only after an `Idempotency-Key`: `true` if the response repeats the first one to that key, and nothing was done',
  traceresponse: 'the trace of the request, if tracing is enabled (https://w3c.github.io/trace-context)',
  Vary: 'the request headers that affect the response',
  'X-Content-Type-Options': 'always `nosniff`',
  'X-Request-Id':
    "the id of the request in the log: the client's `X-Request-Id` if it is valid and no token, otherwise a generated one",
};

/** The headers that any response of an operation that needs a token may have (draft-ietf-httpapi-ratelimit-headers-10). */
export const rateLimitHeaders = {
  RateLimit:
    'the remaining requests, and the seconds until the limit resets: `"default";r=42;t=30`. In the 429 after too many wrong tokens `"wrong-tokens"`',
  'RateLimit-Policy': 'the maximum number of requests, and the length of the window in seconds: `"default";q=600;w=60`',
};
