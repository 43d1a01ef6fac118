import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import { migrate } from '../database/migrate.ts';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';

const projectFolder = resolve(import.meta.dirname, '..', '..');

/** The folder of the embedded default's files; a relative one is the project's, wherever a command is called. */
export const dataFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(projectFolder, dataDir);

/** The database of a command: the one at DATABASE_URL, else the embedded one, started where it must be. */
export const leaseDatabase = async (config: Config): Promise<DatabaseLease> => {
  if (config.databaseUrl === undefined) return leaseEmbeddedPostgres(dataFolder(config));
  assertTlsFilesReadable(config.databaseUrl);
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

/** The same, migrated; but in production a release is migrated by a step of its own, once, before its stores start. */
export const leaseMigratedDatabase = async (config: Config): Promise<DatabaseLease> => {
  const lease = await leaseDatabase(config);
  if (config.environment === 'production') return lease;
  try {
    await migrate(lease.url);
    return lease;
  } catch (error) {
    await lease.release();
    throw error;
  }
};
