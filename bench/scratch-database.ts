/** Databases of the run's own on the server, so that nobody's plants are ever truncated. */
import pg from 'pg';
import { BenchError, reasonOf } from './bench-error.ts';

const query = async (url: string, text: string) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
};

/** @throws {BenchError} where the server cannot be reached or the account may not make a database */
export const createScratchDatabase = async (
  serverUrl: string,
  purpose: string,
): Promise<{ url: string; drop: () => Promise<void> }> => {
  const name = `plant_store_bench_${purpose}_${process.pid}`;
  await query(serverUrl, `CREATE DATABASE ${name}`).catch((error: unknown) => {
    throw new BenchError(`The database ${name} cannot be made on the PostgreSQL server: ${reasonOf(error)}`);
  });
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => query(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`) };
};
