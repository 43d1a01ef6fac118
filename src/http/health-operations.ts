import { errorResponses, errorsOf } from '../openapi/error-responses.ts';
import { headersOf } from '../openapi/headers.ts';
import type { Operation, PathItem } from '../openapi/openapi.ts';

/** Health checks stand at the root, whatever the base path is. */
const servers = [{ url: '/', description: 'At the root, whatever the base path is' }];

const answer = (status: string, description: string): Operation['responses'][string] => ({
  description,
  headers: headersOf(200),
  content: {
    'application/json': {
      schema: { type: 'object', required: ['status'], properties: { status: { const: status } } },
      examples: { [status]: { value: { status } } },
    },
  },
});

/** The description of what createHealthRoutes serves. */
export const healthOperations = {
  '/livez': {
    servers,
    get: {
      operationId: 'isLive',
      tags: ['Health'],
      summary: 'Ask whether the process answers',
      security: [],
      responses: { 200: answer('live', 'It does.'), ...errorResponses() },
    },
  },
  '/readyz': {
    servers,
    get: {
      operationId: 'isReady',
      tags: ['Health'],
      summary: 'Ask whether the store can serve requests',
      security: [],
      responses: {
        200: answer('ready', 'The database is reached and migrated.'),
        ...errorResponses(...errorsOf.database, 'stopping'),
      },
    },
  },
} satisfies Record<string, PathItem>;
