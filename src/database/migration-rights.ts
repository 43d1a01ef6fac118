import type { Client } from 'pg';

/**
 * Whether the role of a connection may make tables and the extension of the index on names, and change the tables that
 * there are, as their owner. Prisma's engine would note a migration as failed that it may not apply.
 */
export const mayMigrate = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ may: boolean | null }>(`
    SELECT has_schema_privilege(current_schema(), 'CREATE')
      AND (has_database_privilege(current_database(), 'CREATE') OR EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm'))
      AND coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('plants')), TRUE) AS may`);
  return rows[0]?.may === true;
};

/** Which of `names` the database has not applied. */
export const findMissingMigrations = async (client: Client, names: readonly string[]): Promise<string[]> => {
  const { rows: tables } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists",
  );
  if (!tables[0]?.exists) return [...names];
  const { rows } = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  );
  return names.filter((name) => !rows.some((row) => row.name === name));
};
