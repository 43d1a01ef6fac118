import { query } from './postgres-server.ts';
import { succeeds } from './succeeds.ts';
import { waitUntil } from './wait-until.ts';

/** A server of a Citus cluster. */
export type CitusNode = {
  /** Of its database `postgres`, which does not have the extension. */
  url: string;
  /** Where the other nodes reach it. */
  host: string;
  port: number;
};

/** The URL of another database on a node. */
export const databaseOn = ({ url }: { url: string }, name: string): string =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;

/**
 * Creates a database with Citus on each node, and adds the workers.
 * @param nodes the coordinator first
 * @param template of the database on the coordinator
 * @returns its URL on the coordinator
 */
export const createCitusDatabase = async (nodes: CitusNode[], name: string, template = 'template0') => {
  const [coordinator, ...workers] = nodes;
  if (coordinator === undefined) throw new Error('There is no coordinator.');
  await Promise.all(
    nodes.map(async (node) => {
      const source = node === coordinator ? template : 'template0';
      await query(node.url, `CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY file_copy`);
      // As deploy/citus/store-role.sql does for the role of the store.
      if (node !== coordinator) await query(node.url, `ALTER DATABASE ${name} SET lock_timeout = '400ms'`);
      await query(databaseOn(node, name), 'CREATE EXTENSION citus');
      // With it, the node connects to others (0) and to itself (-1).
      const { username, password } = new URL(node.url);
      await query(
        databaseOn(node, name),
        'INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, $1, $2), (-1, $1, $2)',
        [username, `password=${password}`],
      );
    }),
  );
  const url = databaseOn(coordinator, name);
  await query(url, 'SELECT citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port]);
  for (const { host, port } of workers) {
    const add = () => query(url, 'SELECT citus_add_node($1, $2)', [host, port]);
    // Citus alters roles on the worker, which fails if another test makes it do so at the same moment.
    await add().catch(add);
  }
  return url;
};

/** Drops such a database on each node, also if sessions between the nodes are opened or transactions are prepared meanwhile. */
export const dropCitusDatabase = async (nodes: CitusNode[], name: string): Promise<void> => {
  for (const node of nodes)
    await waitUntil('the database to be dropped', async () => {
      const prepared = await query(node.url, 'SELECT gid FROM pg_prepared_xacts WHERE database = $1', [name]);
      for (const { gid } of prepared) await succeeds(query(databaseOn(node, name), `ROLLBACK PREPARED '${gid}'`));
      return succeeds(query(node.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    });
};
