import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';

const projectFolder = resolve(import.meta.dirname, '..', '..');

/** The folder of the embedded default's files; a relative one is the project's, wherever a command is called. */
export const dataFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(projectFolder, dataDir);

/** The database that every command uses: the one at DATABASE_URL, else the embedded one, started where it must be. */
export const leaseDatabase = async (config: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<DatabaseLease> =>
  config.databaseUrl === undefined
    ? leaseEmbeddedPostgres(dataFolder(config))
    : { url: config.databaseUrl, release: async () => {} };
