import { type Client, escapeIdentifier } from 'pg';
import { OperationalError } from '../errors.ts';
import { isPooled, namedSchema } from './database-url.ts';
import type { DatabaseFacts } from './inspect-database.ts';

/**
 * The one schema of the store: the one that `?schema=` names; else the one in which the search path finds the migrated store;
 * else the first of the search path. Undefined: there is none.
 */
export const storeSchema = (url: string, { currentSchema, tables }: DatabaseFacts): string | undefined => {
  const named = namedSchema(url);
  if (named !== undefined) return named;
  const home = new Set(Object.values(tables)).size === 1 && '_prisma_migrations' in tables ? tables.plants : undefined;
  return home ?? currentSchema ?? undefined;
};

/** Creates the schema that `?schema=` names if it is missing, as Prisma does. */
export const createNamedSchema = async (client: Client, url: string): Promise<void> => {
  const named = namedSchema(url);
  if (named === undefined) return;
  // Not IF NOT EXISTS alone, which needs the privilege to create schemas even if there is nothing to create.
  const { rowCount } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [named]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${escapeIdentifier(named)}`);
};

/** @param variable what names the database. @throws {OperationalError} the session has no schema, or another than its URL names */
export const assertSchemaUsable = (
  variable: string,
  url: string,
  { currentSchema, searchPath }: DatabaseFacts,
): void => {
  const named = namedSchema(url);
  if (named !== undefined && currentSchema !== null && currentSchema !== named)
    throw new OperationalError(
      `The schema of ${variable} is ${escapeIdentifier(named)} (?schema=), but the session uses ${escapeIdentifier(currentSchema)}: what is ` +
        'between here and PostgreSQL ignores startup options. Set the search path of the role instead: ' +
        `ALTER ROLE … SET search_path = ${escapeIdentifier(named)}`,
    );
  if (currentSchema !== null) return;
  throw new OperationalError(
    named === undefined
      ? `The search_path of ${variable} is ${searchPath || 'empty'}, and no schema in it exists that the role may use. Create one, or ` +
          'set another: ALTER ROLE … SET search_path, ALTER DATABASE … SET search_path, or ?schema= in the URL.'
      : `The schema ${escapeIdentifier(named)} of ${variable} (?schema=) does not exist, or the role may not use it. ` +
          'plant-store migrate creates it.',
  );
};

/** @throws {OperationalError} a pooled URL names a schema */
export const assertNoPooledSchema = (variable: string, url: string): void => {
  const named = namedSchema(url);
  if (named !== undefined && isPooled(url))
    throw new OperationalError(
      `${variable} names the schema ${escapeIdentifier(named)} (?schema=), which cannot be set through a pooler (pgbouncer=true). ` +
        `Remove schema= from the URL, and set it on the role: ALTER ROLE ${escapeIdentifier(new URL(url).username || 'NAME')} ` +
        `SET search_path = ${escapeIdentifier(named)}, and in the console of PgBouncer: RECONNECT`,
    );
};
