import type { Config } from '../config/config.ts';
import { CONNECT_TIMEOUT, createDatabase, createPool, type Database } from '../database/database.ts';
import { leaseDatabaseToUse } from './lease-database.ts';

/** The time limit of a statement, in ms: a chunk may wait for a lock, and a page may take a scan of the whole table. */
export const BULK_STATEMENT_TIMEOUT = 60_000;

/** Opens the database for one import or export, with one connection. */
export const withBulkDatabase = async <Result>(
  config: Config,
  use: (opened: { database: Database; url: string }) => Promise<Result>,
): Promise<Result> => {
  const { url, release } = await leaseDatabaseToUse(config);
  try {
    const database = createDatabase({
      pool: createPool({
        url,
        connections: 1,
        connectTimeout: CONNECT_TIMEOUT,
        statementTimeout: BULK_STATEMENT_TIMEOUT,
      }),
      onConnectionLost: () => {},
    });
    return await use({ database, url }).finally(() => database.$disconnect());
  } finally {
    await release();
  }
};
