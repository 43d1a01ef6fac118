import { errorCodes } from './api-errors.ts';
import { documentationPaths } from './documentation/documentation-openapi.ts';
import { exportPaths } from './exports/export-openapi.ts';
import { healthPaths } from './health/health-openapi.ts';
import { errorSchema, problemSchema } from './http/api-error.ts';
import { commonErrors } from './http/common-errors.ts';
import { importPaths, importSchemas } from './imports/import-openapi.ts';
import { describeErrors, describePaths, HTTP_ERRORS } from './openapi/describe-paths.ts';
import { headers, headersOf } from './openapi/headers.ts';
import { toJsonSchema } from './openapi/openapi.ts';
import { plantPaths, plantSchemas } from './plants/plant-openapi.ts';
import { tokenErrors } from './tokens/token-api-errors.ts';

const INFO = {
  title: 'Plant Store',
  version: '1.0.0',
  summary: 'Stores plants in PostgreSQL under ids that clients choose.',
  description: `Ids are 64-bit integers. Use a JSON parser that keeps every digit; JavaScript's \`JSON.parse\` rounds above 2^53.

Every response that is not a success has an Error as its body, or problem details (RFC 9457) if the \`Accept\` header prefers
\`application/problem+json\` to \`application/json\`. The code is stable; the message may change.

Every path that supports \`GET\` also supports \`HEAD\`. A \`503\` says when to retry.`,
  license: { name: 'MIT', identifier: 'MIT' },
};

const TAGS = [
  { name: 'Plants', description: 'Create, read, change and delete plants. A token is required.' },
  { name: 'Documentation', description: 'This API, described for programs and people. No token is required.' },
  { name: 'Health', description: 'For load balancers and orchestrators. No token is required.' },
];

const BEARER_AUTH = {
  type: 'http',
  scheme: 'bearer',
  description: 'An access token from `plant-store token create`. Scopes: `plants:read`, `plants:write`.',
};

const PREFLIGHT_HEADERS = [
  'Access-Control-Allow-Headers',
  'Access-Control-Allow-Methods',
  'Access-Control-Max-Age',
] as const;

/** Responses to requests that are no operation. OpenAPI has no place for them. */
const otherResponses = {
  204: {
    description: 'OPTIONS: the methods of the path, or the response to a CORS preflight.',
    headers: headersOf(204, 'Accept-Patch', 'Allow', ...PREFLIGHT_HEADERS),
  },
  308: {
    description: 'Redirects a path with a superfluous or missing slash, such as `/docs/`.',
    headers: headersOf(308, 'Location'),
  },
  ...describeErrors([commonErrors.pathUnknown, commonErrors.methodNotAllowed, ...HTTP_ERRORS]),
};

/**
 * The OpenAPI 3.1 document, generated from the schemas that validate requests and from the error codes.
 * `basePath` has no trailing slash.
 */
export const createOpenApiDocument = ({ basePath }: { basePath: string }) => ({
  openapi: '3.1.1',
  info: INFO,
  servers: [{ url: basePath || '/', description: 'This service' }],
  tags: TAGS,
  paths: describePaths(
    { ...importPaths, ...exportPaths, ...plantPaths, ...documentationPaths({ basePath, errorCodes }), ...healthPaths },
    tokenErrors,
  ),
  components: {
    securitySchemes: { bearerAuth: BEARER_AUTH },
    schemas: {
      ...plantSchemas,
      ...importSchemas,
      Error: toJsonSchema(errorSchema),
      Problem: toJsonSchema(problemSchema),
    },
    headers,
  },
  'x-other-responses': otherResponses,
});

export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>;
