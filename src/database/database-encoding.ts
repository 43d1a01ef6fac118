import { Client } from 'pg';
import { CONNECT_TIMEOUT } from './database.ts';
import { classifyDatabaseError } from './database-error.ts';

/** The database cannot hold every Unicode text. */
export class DatabaseEncodingError extends Error {
  override name = 'DatabaseEncodingError';
}

/**
 * Refuses a database in another encoding than UTF-8. One that does not answer passes: the store starts without its
 * database too, and any other command reports the failure itself.
 * @throws {DatabaseEncodingError}
 */
export const checkEncoding = async (url: string): Promise<void> => {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: CONNECT_TIMEOUT,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await assertUtf8(client);
  } catch (error) {
    if (classifyDatabaseError(error) === undefined) throw error;
  } finally {
    // Not awaited: a database that does not answer does not close its end either.
    client.end().catch(() => {});
  }
};

const assertUtf8 = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding');
  const encoding = rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new DatabaseEncodingError(
    `The encoding of the database is ${encoding}, and the store needs UTF8. ` +
      'Create another database: createdb --template template0 --encoding UTF8 NAME',
  );
};
