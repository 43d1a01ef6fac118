import type { Database } from './database.ts';
import { migrationNames } from './migrate.ts';

/** The database is reached, and lacks migrations that this store was written for. */
export class DatabaseNotMigratedError extends Error {
  override name = 'DatabaseNotMigratedError';
}

/**
 * Checks that the database is one that this store can work with: migrated, also by a newer release, and not read-only.
 * @throws {DatabaseNotMigratedError}
 * @throws what Prisma throws, where the database cannot be reached or written to
 */
export const assertReadyToServe = async (database: Database): Promise<void> => {
  const rows = await database.$queryRaw<{ name: string; isReadOnly: boolean }[]>`
    SELECT migration_name AS name, current_setting('transaction_read_only')::boolean AS "isReadOnly"
    FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  const applied = new Set(rows.map(({ name }) => name));
  const missing = migrationNames.filter((name) => !applied.has(name));
  if (missing.length > 0) throw new DatabaseNotMigratedError(`Missing migrations: ${missing.join(', ')}`);
  // A write that fails closes its connection, which may lead to what is no longer the primary. This one changes nothing.
  if (rows.some(({ isReadOnly }) => isReadOnly)) await database.$executeRaw`DELETE FROM plants WHERE FALSE`;
};
