import { errors } from './errors.ts';
import { exportPaths } from './exports/export-openapi.ts';
import { healthPaths } from './health/health-openapi.ts';
import { errorSchema, problemSchema } from './http/error-response.ts';
import { importPaths, importSchemas } from './imports/import-openapi.ts';
import {
  describeExamples,
  describePaths,
  type Group,
  notModified,
  type Operation,
  preconditions,
} from './openapi/describe-paths.ts';
import { commonHeaders, headers, json, rateLimitHeaders, toJsonSchema } from './openapi/openapi.ts';
import { plantPaths, plantSchemas } from './plants/plant-openapi.ts';

/** Errors of requests that are no operation. OpenAPI has no place for their responses. */
export const otherErrors = [errors.pathUnknown, errors.methodNotAllowed];

const listOf = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, meaning]) => `- \`${name}\`: ${meaning}`)
    .join('\n');

const INFO = {
  title: 'Plant Store',
  version: '1.0.0',
  summary: 'Stores plants in PostgreSQL under ids that clients choose.',
  description: `Ids are 64-bit integers. Use a JSON parser that keeps every digit; JavaScript's \`JSON.parse\` rounds above 2^53.
Every [error](docs/errors) has a stable code.

<details><summary>What all operations have in common</summary>

Every error response (4xx, 5xx) has an Error as its body, or problem details (RFC 9457) if the \`Accept\` header prefers
\`application/problem+json\` to \`application/json\`. The code is stable; the message may change. An import that stores nothing
has its summary instead, with the members of an Error. A request that is not valid HTTP can get an Error whatever it accepts.

Every path that supports \`GET\` also supports \`HEAD\`, and every path \`OPTIONS\`. Other methods get \`405\` (1202)
and an \`Allow\` header, other paths \`404\` (1200). A \`503\` says when to retry.

Any response may have these headers:

${listOf(commonHeaders)}

If the operation needs a token, also:

${listOf(rateLimitHeaders)}

</details>`,
  license: { name: 'MIT', identifier: 'MIT' },
};

const description: Operation = {
  operationId: 'getDescription',
  summary: 'Get this OpenAPI document',
  description: 'The API as this instance serves it: generate clients from it, or import it into other tools.',
  parameters: preconditions,
  responses: {
    200: { description: 'This document.', headers: ['ETag'], content: json({ type: 'object' }) },
    304: notModified,
  },
  errors: [errors.preconditionFailed],
};

/** The operations by tag, in the order of the API page. */
const GROUPS: Group[] = [
  {
    name: 'Plants',
    description: 'Create, read, change and delete plants. A token is required.',
    paths: { ...plantPaths, ...importPaths, ...exportPaths },
  },
  {
    name: 'Documentation',
    description: 'This API, described for programs. No token is required.',
    paths: { '/openapi.json': { get: description } },
  },
  {
    name: 'Health',
    description: 'For load balancers and orchestrators. No token is required.',
    paths: healthPaths,
  },
];

const BEARER_AUTH = {
  type: 'http',
  scheme: 'bearer',
  description: 'An access token from `plant-store token create`. Scopes: `plants:read`, `plants:write`.',
};

const { paths, responses } = describePaths(GROUPS);

/** The OpenAPI 3.1 document of a service without a base path, generated from the schemas that validate requests and from the error codes. */
export const openApiDocument = {
  openapi: '3.1.1',
  info: INFO,
  // Relative to the URL of this document, which has the base path and the prefix that a proxy may strip.
  servers: [{ url: '.', description: 'This service' }],
  tags: GROUPS.map(({ name, description }) => ({ name, description })),
  paths,
  components: {
    securitySchemes: { bearerAuth: BEARER_AUTH },
    schemas: {
      ...plantSchemas,
      ...importSchemas,
      Error: toJsonSchema(errorSchema),
      Problem: toJsonSchema(problemSchema),
    },
    headers,
    responses,
    examples: describeExamples(Object.values(errors).filter((error) => !otherErrors.includes(error))),
  },
};

const ROOT = [{ url: '/', description: 'At the root, regardless of the base path' }];

/**
 * The document of a service with this base path. Its health checks then name the root as their server; without a base path they name
 * none, because some tools would join `/` and `/livez` to `//livez`.
 */
export const describeAt = (basePath: string): typeof openApiDocument => {
  if (basePath === '') return openApiDocument;
  const atRoot = Object.keys(healthPaths).map((path) => [path, { get: { ...paths[path]?.get, servers: ROOT } }]);
  return { ...openApiDocument, paths: { ...paths, ...Object.fromEntries(atRoot) } };
};
