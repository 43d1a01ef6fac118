import { Client } from 'pg';

/** Keeps the table `plants` to itself, so that what is sent to it waits. @returns a function that lets go of it */
export const lockPlants = async (databaseUrl: string): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
  return () => client.end();
};
