import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';

/** The migrated database that tests clone. */
export const TEMPLATE = 'plant_store_template';

/** The URL of a database on the tests' server. */
export const databaseUrl = (name: string): string => {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '');
  url.pathname = `/${name}`;
  return url.href;
};

/** The name of the sessions that tests themselves have with a database. */
export const TEST_SESSION = 'plant-store-test';

/** Creates a database: a clone of the migrated one, or an empty one. */
export const createTestDatabase = async ({ migrated = true } = {}) => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = databaseUrl(name);
  const administration = connectOnce(databaseUrl('postgres'));
  const session = connectOnce(url);
  await administration.query(`CREATE DATABASE ${name} TEMPLATE ${migrated ? TEMPLATE : 'template0'}`);
  return {
    name,
    url,
    query: session.query,
    /** Runs a statement on the database `postgres`, for what does not work from within this one. */
    administer: administration.query,
    drop: async () => {
      await administration.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await Promise.all([session.end(), administration.end()]);
    },
  };
};

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/** Keeps one session, and opens a new one if it was terminated. Opening one takes longer than most statements of tests. */
const connectOnce = (connectionString: string) => {
  const pool = new Pool({ connectionString, max: 1, idleTimeoutMillis: 0, application_name: TEST_SESSION });
  pool.on('error', () => {});
  return {
    /** Runs a statement. @returns its rows, int8 as text */
    query: async (sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
      (await pool.query(sql, values)).rows,
    end: () => pool.end(),
  };
};
