import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { type CitusNode, createCitusDatabase, dropCitusDatabase } from './citus-database.ts';
import { query } from './postgres-server.ts';
import { distribute } from './psql.ts';

/** The migrated database that tests clone. */
export const TEMPLATE = 'plant_store_template';

/** The nodes of the Citus cluster that the tests run on, the coordinator first; none on a single PostgreSQL. */
const nodes: CitusNode[] = JSON.parse(process.env.TEST_CITUS_NODES ?? '[]');

/** The URL of a database on the tests' server. */
export const databaseUrl = (name: string): string => {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '');
  url.pathname = `/${name}`;
  return url.href;
};

/** The name of the session that tests themselves have with a database. */
export const TEST_SESSION = 'plant-store-test';

/** Creates a database: a clone of the migrated one, or an empty one. */
export const createTestDatabase = async ({ migrated = true } = {}) => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = databaseUrl(name);
  const template = migrated ? TEMPLATE : 'template0';
  if (nodes.length > 0) {
    await createCitusDatabase(nodes, name, template);
    if (migrated) await distribute(url, '--set=shards=4');
  }
  // Without fsync, copying files is faster than the default, by 24 to 31 ms including the later drop.
  else await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const database = openTestDatabase(url);
  return {
    ...database,
    drop: async () => {
      if (nodes.length > 0) await dropCitusDatabase(nodes, name);
      else await administer(`DROP DATABASE ${name} WITH (FORCE)`);
      await database.drop();
    },
  };
};

/** A database that is there. `drop` leaves it. */
export const openTestDatabase = (url: string) => {
  // One session, since opening one takes longer than most statements of tests. If it is terminated, another follows.
  const session = new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, application_name: TEST_SESSION });
  session.on('error', () => {});
  return {
    name: new URL(url).pathname.slice(1),
    url,
    /** Runs a statement. @returns its rows, int8 as text */
    query: async (sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
      (await session.query(sql, values)).rows,
    /** Runs a statement on the database `postgres`, for what does not work from within this one. */
    administer,
    drop: () => session.end(),
  };
};

export type TestDatabase = ReturnType<typeof openTestDatabase>;

const administer = (sql: string) => query(databaseUrl('postgres'), sql);
