/** The PostgreSQL server of a run, and the databases that the run creates on it. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { BenchError, reasonOf } from '../command.ts';

/** The URL of the server of `DATABASE_URL`, or else of the embedded one in a temporary folder, which `stack` stops. */
export const startDatabaseServer = async (stack: AsyncDisposableStack): Promise<string> => {
  if (process.env.DATABASE_URL) return process.env.DATABASE_URL;
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  // If this process runs as root, PostgreSQL runs under another account.
  await chmod(folder, 0o755);
  const { url, release } = await leaseEmbeddedPostgres(folder);
  stack.defer(release);
  return url;
};

/**
 * The URL of a new database, so that no existing table is touched. `stack` drops it.
 * @throws {BenchError} if the server cannot be reached or the account lacks `CREATEDB`
 */
export const createDatabase = async (serverUrl: string, purpose: string, stack: AsyncDisposableStack) => {
  const name = `plant_store_bench_${purpose}_${process.pid}`;
  await query(serverUrl, `CREATE DATABASE ${name}`).catch((error: unknown) => {
    throw new BenchError(`Cannot create the database ${name}: ${reasonOf(error)}`);
  });
  stack.defer(() => query(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
};

const query = async (url: string, text: string) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
};

/** libpq's environment variables: every account on the machine could read a password in the arguments. */
export const libpqVariables = (databaseUrl: string) => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
  };
};
