import { apiPageOperations } from '../api-page/api-page-operations.ts';
import { errorPageOperations } from '../api-page/error-page-operations.ts';
import { indexOperations } from '../api-page/index-operations.ts';
import { errorSchema, problemSchema } from '../http/error-schema.ts';
import { healthOperations } from '../http/health-operations.ts';
import { plantOperations, plantSchemas } from '../plants/plant-operations.ts';
import { errorResponses } from './error-responses.ts';
import { headers, headersOf } from './headers.ts';
import { openApiOperations } from './openapi-operations.ts';
import { toJsonSchema } from './to-json-schema.ts';

const INFO = {
  title: 'Plant Store',
  version: '1.0.0',
  summary: 'Keeps plants in PostgreSQL, under ids of your own.',
  description: `Ids are 64-bit integers, exact to the last digit: numbers in JSON, also beyond 2^53. Read them so.

Everything but success is answered with an Error, or with problem details (RFC 9457) where the \`Accept\` header prefers
\`application/problem+json\` to \`application/json\`. The code is stable; the rest is for people.

A path also has \`HEAD\` where it has \`GET\`. A \`503\` says when to try again.`,
  license: { name: 'MIT', identifier: 'MIT' },
};

const TAGS = [
  { name: 'Plants', description: 'The plants of the store. A token is required.' },
  { name: 'Description', description: 'What the interface is. No token is required.' },
  { name: 'Health', description: 'For who watches the process. No token is required.' },
];

const BEARER_AUTH = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token, as `plant-store token create` prints it. Its scopes are `plants:read` and `plants:write`.',
};

const OF_PREFLIGHT = [
  'Access-Control-Allow-Headers',
  'Access-Control-Allow-Methods',
  'Access-Control-Max-Age',
] as const;

/** OpenAPI has no place for these. */
const answersToNoOperation = {
  204: {
    description: 'What the path has, for OPTIONS; or what a page may send, for its browser.',
    headers: headersOf(204, 'Accept-Patch', 'Allow', ...OF_PREFLIGHT),
  },
  308: {
    description: 'The page, for a path with a slash too many or too few: `/docs/`.',
    headers: headersOf(308, 'Location'),
  },
  ...errorResponses('pathUnknown', 'methodNotAllowed'),
};

/**
 * The description of the interface (OpenAPI 3.1), made from the schemas that check requests and the codes that errors have.
 * `basePath`: that of the store, without a slash at its end.
 */
export const createOpenApiDocument = ({ basePath }: { basePath: string }) => ({
  openapi: '3.1.1',
  info: INFO,
  servers: [{ url: basePath || '/', description: 'This store' }],
  tags: TAGS,
  paths: {
    ...plantOperations,
    ...indexOperations(basePath),
    ...openApiOperations,
    ...errorPageOperations,
    ...apiPageOperations,
    ...healthOperations,
  },
  components: {
    securitySchemes: { bearerAuth: BEARER_AUTH },
    schemas: { ...plantSchemas, Error: toJsonSchema(errorSchema), Problem: toJsonSchema(problemSchema) },
    headers,
  },
  'x-answers-to-no-operation': answersToNoOperation,
});

export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>;
