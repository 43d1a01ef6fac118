/**
 * Platformatic DB generates `POST /plants/` from the table. Unlike the others it also returns the id, and it overwrites
 * the row if the id is taken.
 */
import { buildServer } from '@platformatic/db';
import { address, databaseUrl, logsRequests } from './peer.ts';

const app = await buildServer({
  server: { hostname: address.host, port: address.port, logger: { level: logsRequests ? 'info' : 'fatal' } },
  db: { connectionString: databaseUrl, openapi: true, graphql: false },
});

// Its types lack `start`; its documentation and its code have it.
await (app as typeof app & { start: () => Promise<string> }).start();
