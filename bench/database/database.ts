/** The PostgreSQL server of a run, and the databases that the run creates on it. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { BenchError, reasonOf } from '../processes/bench-error.ts';

/** `pid`: the process whose descendants serve the connections, if it runs on this machine. */
export type DatabaseServer = { url: string; embedded: boolean; pid?: number; stop: () => Promise<void> };

/**
 * The server of `DATABASE_URL`, or else the embedded one with its data in a temporary folder.
 * @throws {OperationalError} if the embedded server does not start
 */
export const startDatabaseServer = async (): Promise<DatabaseServer> => {
  const url = process.env.DATABASE_URL;
  if (url) return { url, embedded: false, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  // If this process runs as root, PostgreSQL runs under another account.
  await chmod(folder, 0o755);
  const lease = await leaseEmbeddedPostgres(folder);
  const stop = async () => {
    await lease.release();
    await rm(folder, { recursive: true });
  };
  const pid = Number.parseInt(await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  return { url: lease.url, embedded: true, pid, stop };
};

/**
 * Creates a database, so that no existing table is touched. `purpose` becomes part of its name.
 * @throws {BenchError} if the server cannot be reached or the account lacks `CREATEDB`
 */
export const createDatabase = async (
  serverUrl: string,
  purpose: string,
): Promise<{ url: string; drop: () => Promise<void> }> => {
  const name = `plant_store_bench_${purpose}_${process.pid}`;
  await query(serverUrl, `CREATE DATABASE ${name}`).catch((error: unknown) => {
    throw new BenchError(`Cannot create the database ${name}: ${reasonOf(error)}`);
  });
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => query(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`) };
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
