/** What the store is compared with. */
import { join } from 'node:path';
import type { Load, Target } from '../load/load.ts';
import { runPgbench } from '../load/pgbench.ts';
import { type Server, startServer } from './server.ts';
import type { Store } from './store.ts';

const root = join(import.meta.dirname, '..');

/** Peers check no token. They get one so that all requests have the same size. */
const PEER_TOKEN = `plant_${'0'.repeat(43)}`;

type Settings = { store: Store; folder: string; signal: AbortSignal };

/** A server in `peers/`. It uses the database of the store. */
export const createPeer = (id: string, title: string, settings: Settings): Target<Server> => {
  const { store, folder, signal } = settings;
  const env = { DATABASE_URL: store.databaseUrl };
  const args = [join(root, 'peers', `${id}.ts`)];
  return {
    id,
    title,
    table: store.table,
    indexes: 'primary key',
    open: () => startServer({ args, cwd: root, env, token: PEER_TOKEN, folder, signal }),
  };
};

export const createPeers = (settings: Settings): Target[] => {
  const { store, folder, signal } = settings;
  const { table, databaseUrl } = store;
  const load = (load: Load) => runPgbench(load, { databaseUrl, folder, signal });
  const open = async () => ({ load, [Symbol.asyncDispose]: async () => {} });
  return [
    { ...store, id: 'store-key', title: 'Plant Store, key only', indexes: 'primary key' },
    createPeer('fastify-pg', 'Fastify and pg', settings),
    createPeer('express-prisma', 'Express and Prisma', settings),
    createPeer('express-query-raw-prisma', 'Express, pino-http, zod and Prisma $queryRaw', settings),
    { id: 'pgbench', title: 'pgbench, single INSERTs', table, indexes: 'primary key', open },
    { ...createPeer('node-http', 'Bare node:http, stores nothing', settings), indexes: 'none' },
  ];
};
