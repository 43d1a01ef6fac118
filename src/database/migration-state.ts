import type { Database } from './database.ts';
import { migrationNames } from './migrate.ts';

/** The database is reached, and lacks migrations that this store was written for. */
export class DatabaseNotMigratedError extends Error {
  override name = 'DatabaseNotMigratedError';
}

/**
 * @throws {DatabaseNotMigratedError}
 * @throws what Prisma throws, where the database cannot be reached
 */
export const assertMigrated = async (database: Database): Promise<void> => {
  const rows = await database.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  const applied = new Set(rows.map(({ name }) => name));
  const missing = migrationNames.filter((name) => !applied.has(name));
  if (missing.length > 0) throw new DatabaseNotMigratedError(`Missing migrations: ${missing.join(', ')}`);
};
