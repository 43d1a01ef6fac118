import { OperationalError } from '../operational-error.ts';
import { withClient } from './database.ts';
import { classifyDatabaseError } from './database-error.ts';
import { isPooled } from './pooler.ts';

/**
 * Checks that the role of a pooled URL has a time limit for statements, since the service cannot set one for its session. A
 * database that does not respond passes, because the service also starts without its database.
 * @param limit the longest that the service can use, in ms
 * @throws {OperationalError}
 */
export const checkRoleTimeout = async (url: string, limit: number): Promise<void> => {
  if (!isPooled(url)) return;
  const sql = `SELECT current_user AS role, setting::int AS timeout FROM pg_settings WHERE name = 'statement_timeout'`;
  const row = await withClient(url, async (client) => (await client.query<RoleTimeout>(sql)).rows[0], {
    query_timeout: limit,
  }).catch((error) => {
    if (classifyDatabaseError(error) === undefined) throw error;
    return undefined;
  });
  if (row && (row.timeout === 0 || row.timeout > limit))
    throw new OperationalError(
      `The role ${row.role} has a statement_timeout of ${row.timeout} ms. Through a pooler (pgbouncer=true) it must be 1 to ${limit} ms. ` +
        `As this role or a superuser, run: ALTER ROLE "${row.role}" SET statement_timeout = '${limit}ms', and in the console of PgBouncer: RECONNECT`,
    );
};

type RoleTimeout = { role: string; timeout: number };
