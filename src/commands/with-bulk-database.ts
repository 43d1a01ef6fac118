import type { Config } from '../config/config.ts';
import {
  BULK_STATEMENT_TIMEOUT,
  CONNECT_TIMEOUT,
  createDatabase,
  createPool,
  type Database,
} from '../database/database.ts';
import { leaseDatabaseToUse } from './lease-database.ts';

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
