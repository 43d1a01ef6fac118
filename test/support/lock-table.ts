import { Client } from 'pg';

/** Keeps a table to itself, so that what is sent to it waits. @returns a function that lets go of it */
export const lockTable = async (databaseUrl: string, table: string): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return () => client.end();
};
