import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { CONNECT_TIMEOUT, createDatabase, createPool } from '../database/database.ts';
import { checkEncoding } from '../database/database-encoding.ts';
import { migrate } from '../database/migrate.ts';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { OperationalError } from '../operational-error.ts';
import { createTokenRepository, type TokenRepository } from '../tokens/token-repository.ts';

const projectFolder = resolve(import.meta.dirname, '..', '..');

/** The folder of the embedded PostgreSQL and the local token. A relative DATA_DIR is relative to the project. */
export const dataFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(projectFolder, dataDir);

/**
 * The database at DATABASE_URL, or the embedded one, which is started if necessary. Nothing is migrated.
 * @throws {OperationalError}
 */
export const leaseDatabase = async (config: Config): Promise<DatabaseLease> => {
  if (config.databaseUrl === undefined) return leaseEmbeddedPostgres(dataFolder(config));
  assertTlsFilesReadable(config.databaseUrl);
  await checkEncoding(config.databaseUrl);
  return { url: config.databaseUrl, release: async () => {} };
};

/** Fails at the start. The driver reads these files only when it connects. */
const assertTlsFilesReadable = (databaseUrl: string) => {
  for (const [name, path] of new URL(databaseUrl).searchParams) {
    if (!['sslrootcert', 'sslcert', 'sslkey'].includes(name)) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      throw new OperationalError(`The ${name} of DATABASE_URL cannot be read: ${(error as Error).message}`);
    }
  }
};

/** For `serve`: migrates the database, except in production, where each release runs `migrate` once. */
export const leaseDatabaseToServe = (config: Config): Promise<DatabaseLease> =>
  config.environment === 'production' ? leaseDatabase(config) : leaseMigratedDatabase(config);

/**
 * For commands that use the tables. Migrates only the embedded database, so that a token can be created before the
 * first start. Services of another release may be using the database at DATABASE_URL.
 */
export const leaseDatabaseToUse = (config: Config): Promise<DatabaseLease> =>
  config.databaseUrl === undefined ? leaseMigratedDatabase(config) : leaseDatabase(config);

const leaseMigratedDatabase = async (config: Config): Promise<DatabaseLease> => {
  const lease = await leaseDatabase(config);
  try {
    await migrate(lease.url);
    return lease;
  } catch (error) {
    await lease.release();
    throw error;
  }
};

/** How long a command waits for a statement, in ms. */
const STATEMENT_TIMEOUT = 10_000;

/** Calls `use` with the tokens of a database, then closes the connection. */
export const withTokens = async <Result>(
  databaseUrl: string,
  use: (tokens: TokenRepository) => Promise<Result>,
): Promise<Result> => {
  const database = createDatabase({
    pool: createPool({
      url: databaseUrl,
      connections: 1,
      connectTimeout: CONNECT_TIMEOUT,
      statementTimeout: STATEMENT_TIMEOUT,
    }),
    onConnectionLost: () => {},
  });
  try {
    return await use(createTokenRepository({ database }));
  } finally {
    await database.$disconnect();
  }
};
