import { commonErrors } from '../http/common-errors.ts';
import type { Operation, Path } from '../openapi/describe-paths.ts';

const servers = [{ url: '/', description: 'At the root, regardless of the base path' }];

const statusResponse = (status: string, description: string): Operation['responses'][number] => ({
  description,
  content: {
    'application/json': {
      schema: { type: 'object', required: ['status'], properties: { status: { const: status } } },
      examples: { [status]: { value: { status } } },
    },
  },
});

export const healthPaths = {
  '/livez': {
    servers,
    get: {
      operationId: 'isLive',
      tags: ['Health'],
      summary: 'Check that the process responds',
      responses: { 200: statusResponse('live', 'The process responds.') },
    },
  },
  '/readyz': {
    servers,
    get: {
      operationId: 'isReady',
      tags: ['Health'],
      summary: 'Check that the service can handle requests',
      responses: { 200: statusResponse('ready', 'The database is reachable and migrated.') },
      errors: [commonErrors.databaseUnreachable, commonErrors.databaseNotMigrated, commonErrors.stopping],
    },
  },
} satisfies Record<string, Path>;
