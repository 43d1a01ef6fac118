import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Database } from './database.ts';

export const migrationsFolder = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

/** The migrations of this release, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

type AppliedMigration = { name: string };

const missingFrom = (applied: AppliedMigration[]): string[] =>
  migrationNames.filter((name) => !applied.some((migration) => migration.name === name));

/**
 * Reads which migrations of this release the database lacks, and whether the connection's role may apply them: it may create
 * tables and owns the existing ones. (Prisma's engine would record a migration that it may not apply as failed.) Works on an
 * empty database too.
 */
export const readMigrationState = async (client: Client) => {
  const { rows } = await client.query<{ isNew: boolean; mayMigrate: boolean | null }>(`
    SELECT to_regclass('_prisma_migrations') IS NULL AS "isNew", has_schema_privilege(current_schema(), 'CREATE')
      AND coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('plants')), TRUE) AS "mayMigrate"`);
  const [{ isNew = true, mayMigrate = false } = {}] = rows;
  const applied =
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL';
  return {
    missing: isNew ? migrationNames : missingFrom((await client.query<AppliedMigration>(applied)).rows),
    mayMigrate,
  };
};

/** The database lacks migrations of this release. */
export class DatabaseNotMigratedError extends Error {
  override name = 'DatabaseNotMigratedError';
}

/**
 * Checks that the database has all migrations of this release, possibly those of a newer one too, and accepts writes.
 * @throws {DatabaseNotMigratedError}
 * @throws Prisma's error if the database cannot be reached or written to
 */
export const assertReadyToServe = async (database: Database): Promise<void> => {
  const rows = await database.$queryRaw<(AppliedMigration & { isReadOnly: boolean })[]>`
    SELECT migration_name AS name, current_setting('transaction_read_only')::boolean AS "isReadOnly"
    FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  const missing = missingFrom(rows);
  if (missing.length > 0) throw new DatabaseNotMigratedError(`Missing migrations: ${missing.join(', ')}`);
  // The server may no longer be the primary: a failed write, which changes nothing here, closes the connection to it.
  if (rows.some(({ isReadOnly }) => isReadOnly)) await database.$executeRaw`DELETE FROM plants WHERE FALSE`;
};
