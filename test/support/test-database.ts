import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** The migrated database that tests clone. */
export const TEMPLATE = 'plant_store_template';

/** The URL of a database on the tests' server. */
export const databaseUrl = (name: string): string => {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '');
  url.pathname = `/${name}`;
  return url.href;
};

/** Creates a database: a clone of the migrated one, or an empty one. */
export const createTestDatabase = async ({ migrated = true } = {}) => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await execute(databaseUrl('postgres'), `CREATE DATABASE ${name} TEMPLATE ${migrated ? TEMPLATE : 'template0'}`);
  const url = databaseUrl(name);
  return {
    name,
    url,
    query: (sql: string, values: unknown[] = []) => execute(url, sql, values),
    /** Runs a statement on the database `postgres`, for what does not work from within this one. */
    administer: (sql: string) => execute(databaseUrl('postgres'), sql),
    drop: async () => {
      await execute(databaseUrl('postgres'), `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
};

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/** Runs a statement on a new connection. @returns its rows, int8 as text */
const execute = async (url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
};
