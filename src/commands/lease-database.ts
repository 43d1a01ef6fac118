import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import { checkEncoding } from '../database/database-encoding.ts';
import { migrate } from '../database/migrate.ts';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';

const projectFolder = resolve(import.meta.dirname, '..', '..');

/** The folder of the embedded default's files; a relative one is the project's, wherever a command is called. */
export const dataFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(projectFolder, dataDir);

/**
 * The database as it is: the one at DATABASE_URL, else the embedded one, started if it does not run.
 * @throws {DatabaseEncodingError}
 */
export const leaseDatabase = async (config: Config): Promise<DatabaseLease> => {
  if (config.databaseUrl === undefined) return leaseEmbeddedPostgres(dataFolder(config));
  assertTlsFilesReadable(config.databaseUrl);
  await checkEncoding(config.databaseUrl);
  return { url: config.databaseUrl, release: async () => {} };
};

/** The driver reads these files with each connection, when it is late to say that one is missing. */
const assertTlsFilesReadable = (databaseUrl: string) => {
  for (const [name, path] of new URL(databaseUrl).searchParams) {
    if (!['sslrootcert', 'sslcert', 'sslkey'].includes(name)) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      throw new ConfigError(`The ${name} of DATABASE_URL cannot be read: ${(error as Error).message}`);
    }
  }
};

/** For `serve`, which migrates the database unless in production: there `migrate` does so, once for each release. */
export const leaseDatabaseToServe = (config: Config): Promise<DatabaseLease> =>
  config.environment === 'production' ? leaseDatabase(config) : leaseMigratedDatabase(config);

/**
 * For a command that uses the tables. It migrates the embedded database only, so that a token can be created before the
 * first start. The database at DATABASE_URL may be that of stores which run another release.
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
