import { errors } from '../errors.ts';
import type { Operation, Paths } from '../openapi/describe-paths.ts';
import { json } from '../openapi/openapi.ts';

const statusResponse = (status: string, description: string): Operation['responses'] => ({
  200: {
    description,
    content: json({ type: 'object', required: ['status'], properties: { status: { const: status } } }),
  },
});

const isLive: Operation = {
  operationId: 'isLive',
  summary: 'Check that the process responds',
  description: 'For a liveness probe: it asks nothing of the database, so an outage restarts no instance.',
  responses: statusResponse('live', 'The process responds.'),
};

const isReady: Operation = {
  operationId: 'isReady',
  summary: 'Check that the service can handle requests',
  description: 'For a readiness probe or a load balancer: asks the database, on a connection of its own.',
  responses: statusResponse('ready', 'The database is reachable and migrated.'),
  errors: [errors.overloaded, errors.databaseUnreachable, errors.databaseNotMigrated, errors.stopping],
};

export const healthPaths: Paths = { '/livez': { get: isLive }, '/readyz': { get: isReady } };
