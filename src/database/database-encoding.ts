import { OperationalError } from '../operational-error.ts';
import { CONNECT_TIMEOUT, withClient } from './database.ts';
import { classifyDatabaseError } from './database-error.ts';

/**
 * Checks that the encoding of a database is UTF-8. A database that does not respond passes, because the service also
 * starts without its database, and other commands report the failure themselves.
 * @throws {OperationalError}
 */
export const checkEncoding = async (url: string): Promise<void> => {
  const query = 'SHOW server_encoding';
  const encoding = await withClient(
    url,
    async (client) => (await client.query<{ server_encoding: string }>(query)).rows[0]?.server_encoding,
    { query_timeout: CONNECT_TIMEOUT },
  ).catch((error) => {
    if (classifyDatabaseError(error) === undefined) throw error;
    return 'UTF8';
  });
  if (encoding !== 'UTF8')
    throw new OperationalError(
      `The encoding of the database is ${encoding}, but Plant Store requires UTF8. ` +
        'Create another database: createdb --template template0 --encoding UTF8 NAME',
    );
};
