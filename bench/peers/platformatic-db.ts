/**
 * Platformatic DB: it makes `POST /plants/` from the table, served by its own server in this process.
 * It also answers with the id, and an id that is taken is overwritten: that is its own way, and no 400.
 */
import { buildServer } from '@platformatic/db';
import { writesLog } from './writes-log.ts';

const app = await buildServer({
  server: { hostname: '127.0.0.1', port: Number(process.env.PORT), logger: { level: writesLog ? 'info' : 'fatal' } },
  db: { connectionString: process.env.DATABASE_URL, openapi: true, graphql: false },
});

// Its types know `start` no more, its documentation and its code do.
await (app as typeof app & { start: () => Promise<string> }).start();
