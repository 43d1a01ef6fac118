import type { Client } from 'pg';
import { OperationalError } from '../operational-error.ts';
import { withClient } from './database.ts';
import { assertSession } from './pooler.ts';
import { assertOwner } from './table-owner.ts';

/** Runs a statement. @returns its rows */
type Query = (sql: string) => Promise<unknown[]>;

/** @returns whether `plants` is distributed by Citus; false if Citus is not installed */
export const isDistributed = async (query: Query): Promise<boolean> => {
  const installed = await query("SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL");
  if (installed.length === 0) return false;
  return (await query("SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('plants')")).length > 0;
};

/** @returns a function that asks the database once, and again only if it could not be asked */
export const createDistributionCheck = (query: Query) => {
  let answer: Promise<boolean> | undefined;
  return (): Promise<boolean> => {
    answer ??= isDistributed(query).catch((error) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
};

/** The first version with tables of a single shard. */
const MIN_VERSION = 12;

/**
 * How each table is distributed; see docs/decisions/0046. `rate_limits` is one shard, so that one worker counts all
 * requests of a statement.
 */
const TABLES = [
  {
    name: 'plants',
    by: 'id',
    sql: "create_distributed_table('plants', 'id', colocate_with => 'none', shard_count => $1)",
  },
  {
    name: 'rate_limits',
    by: 'one shard',
    sql: "create_distributed_table('rate_limits', NULL, colocate_with => 'none')",
  },
  { name: 'tokens', by: 'a copy on each node', sql: "create_reference_table('tokens')" },
  { name: '_prisma_migrations', by: 'a copy on each node', sql: "create_reference_table('_prisma_migrations')" },
] as const;

/**
 * Distributes the tables, and the rows that they have, over the workers of a Citus cluster. Skips those that are distributed.
 * @returns what was done, such as `plants: by id, in 8 shards`
 * @throws {OperationalError} errors of PostgreSQL
 */
export const distribute = async (url: string, { shards }: { shards: number }): Promise<string[]> => {
  assertSession(url, 'Distributing the tables');
  return withClient(url, async (client) => {
    // Copying the rows may take long.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET client_min_messages = warning');
    await checkCluster(client);
    await assertOwner(client);
    const { rows } = await client.query<{ name: string }>('SELECT logicalrelid::text AS name FROM pg_dist_partition');
    const missing = TABLES.filter(({ name }) => !rows.some((table) => table.name === name));
    if (missing.length > 0) await checkAlone(client);
    const done: string[] = [];
    for (const { name, by, sql } of missing) {
      await client.query('BEGIN');
      await client.query(`SELECT ${sql}`, sql.includes('$1') ? [shards] : []);
      // The rows that were copied are still in the local table, where nothing can see them.
      await client.query('SELECT truncate_local_data_after_distributing_table($1::regclass)', [name]);
      await client.query('COMMIT');
      done.push(`${name}: ${name === 'plants' ? `by ${by}, in ${shards} shards` : by}`);
    }
    return done;
  });
};

/** @throws {OperationalError} which says what to do */
const checkCluster = async (client: Client) => {
  const read = async <Row extends object>(sql: string) => (await client.query<Row>(sql)).rows[0] as Row;
  const { version } = await read<{ version: string | null }>(
    "SELECT (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS version",
  );
  if (version === null)
    throw new OperationalError(
      'This database does not have the extension Citus. Add citus to shared_preload_libraries on every node, and as a ' +
        'superuser run on every node, in this database: CREATE EXTENSION citus',
    );
  if (Number.parseInt(version, 10) < MIN_VERSION)
    throw new OperationalError(`Citus is ${version}, but Plant Store requires ${MIN_VERSION} or later.`);
  const state = await read<{ isWorker: boolean; workers: string }>(`
    SELECT (SELECT groupid <> 0 FROM pg_dist_local_group) AS "isWorker",
      (SELECT count(*) FROM citus_get_active_worker_nodes()) AS workers`);
  if (state.isWorker) throw new OperationalError('This is a worker. Connect to the coordinator of the Citus cluster.');
  if (state.workers === '0')
    throw new OperationalError(
      'The Citus cluster has no workers. As a superuser run on the coordinator, for each: ' +
        "SELECT citus_add_node('HOST', 5432)",
    );
};

/** A store chooses its statements when it starts: with those for one PostgreSQL, it would take ids for free that are not. */
const checkAlone = async (client: Client) => {
  const { rows } = await client.query<{ roles: string | null; count: number }>(`
    SELECT count(*)::int AS count, string_agg(DISTINCT usename, ', ') AS roles FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL
      AND application_name NOT LIKE 'citus%' AND application_name NOT LIKE 'Citus%'`);
  const [{ count, roles } = { count: 0, roles: null }] = rows;
  if (count > 0)
    throw new OperationalError(
      `${count} other sessions use this database (roles: ${roles}). Stop all stores and end the other sessions first.`,
    );
};
