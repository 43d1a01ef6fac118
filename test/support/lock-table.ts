import { Client } from 'pg';
import { isOnCitus } from './skip.ts';
import type { TestDatabase } from './test-database.ts';
import { waitUntil } from './wait-until.ts';

/**
 * Locks a table, so that every statement on it waits; with the mode SHARE, every statement that changes it.
 * @returns a function that releases the lock
 */
export const lockTable = async (
  databaseUrl: string,
  table: string,
  mode: 'ACCESS EXCLUSIVE' | 'SHARE' = 'ACCESS EXCLUSIVE',
): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
  return () => client.end();
};

/** Locks the rows that `SELECT … FROM selection` has. @returns a function that releases the lock */
export const lockRow = async (databaseUrl: string, selection: string): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`BEGIN; SELECT FROM ${selection} FOR UPDATE`);
  return () => client.end();
};

const BLOCKED = "WHERE datname = current_database() AND wait_event_type = 'Lock'";
/** Includes the sessions on the workers. */
const ALL_SESSIONS = isOnCitus ? 'citus_stat_activity' : 'pg_stat_activity';

/** @returns the statements of a database that wait for a lock */
export const blockedStatements = async ({ query }: TestDatabase): Promise<string[]> =>
  (await query(`SELECT query FROM ${ALL_SESSIONS} ${BLOCKED}`)).map((row) => String(row.query));

/** Waits until a statement whose text contains `part` waits for a lock. */
export const waitForBlocked = (database: TestDatabase, part = ''): Promise<void> =>
  waitUntil('a statement that waits for a lock', async () =>
    (await blockedStatements(database)).some((statement) => statement.includes(part)),
  );

/** Closes the connections whose statements wait for a lock. */
export const terminateBlocked = ({ query }: TestDatabase) =>
  query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity ${BLOCKED}`);
