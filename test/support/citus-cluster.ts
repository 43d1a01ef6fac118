import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPostgresServer, query } from './postgres-server.ts';

/** What docs/scaling.md recommends, and connections without TLS. */
const SETTINGS = `
shared_preload_libraries = 'citus'
wal_level = logical
max_prepared_transactions = 200
max_connections = 300
citus.recover_2pc_interval = '1s'
citus.node_conninfo = 'sslmode=prefer'
`;

/** Why there is no Citus on this machine; undefined if CITUS_BIN names one. */
export const citusObstacle = process.env.CITUS_BIN
  ? undefined
  : 'CITUS_BIN names no folder with the programs of a PostgreSQL that has Citus';

/** Starts a coordinator and two workers from the programs in CITUS_BIN, without any database for Citus. */
export const startCitusCluster = async (folder: string) => {
  const bin = process.env.CITUS_BIN ?? '';
  const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  const start = async (name: string) => {
    const server = await createPostgresServer({ folder, name, binaries, settings: SETTINGS });
    // Nodes connect to each other as the role of the session, without its password.
    writeFileSync(join(server.directory, 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n');
    await server.start();
    return server;
  };
  const [coordinator, ...workers] = await Promise.all([start('coordinator'), start('worker-1'), start('worker-2')]);
  return {
    coordinator,
    workers,
    stop: () => Promise.all([coordinator, ...workers].map((server) => server.stop())),
  };
};

/**
 * Creates a database with Citus on each node, and adds the workers.
 * @param urls of any database on each node, the coordinator first
 * @param template of the database on the coordinator
 */
export const createCitusDatabase = async (urls: string[], name: string, template = 'template0') => {
  const nodes = urls.map((url) => ({
    server: url,
    database: Object.assign(new URL(url), { pathname: `/${name}` }).href,
  }));
  await Promise.all(
    nodes.map(async ({ server, database }, index) => {
      await query(
        server,
        `CREATE DATABASE ${name} TEMPLATE ${index === 0 ? template : 'template0'} STRATEGY file_copy`,
      );
      await query(database, 'CREATE EXTENSION citus');
    }),
  );
  const [coordinator, ...workers] = nodes.map(({ database }) => database);
  const nodeOf = (url = '') => [new URL(url).hostname, Number(new URL(url).port)];
  await query(coordinator ?? '', 'SELECT citus_set_coordinator_host($1, $2)', nodeOf(coordinator));
  for (const worker of workers) await query(coordinator ?? '', 'SELECT citus_add_node($1, $2)', nodeOf(worker));
  return coordinator ?? '';
};
