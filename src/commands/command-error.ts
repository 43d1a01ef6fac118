import { relative } from 'node:path';
import { type Config, ConfigError } from '../config/config.ts';
import { DatabaseEncodingError } from '../database/database-encoding.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { MigrationError } from '../database/migrate.ts';
import { SearchIndexError } from '../database/search-index.ts';
import { EmbeddedPostgresError } from '../embedded-postgres/binaries.ts';
import { ListenError } from '../server/http-server.ts';
import { dataFolder } from './lease-database.ts';

/** A command failed for a reason outside the program; `message` says what is wrong and what to do. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** Not bugs. Their messages say what is wrong and what to do. */
const OPERATIONAL_ERRORS = [
  CommandError,
  ConfigError,
  DatabaseEncodingError,
  EmbeddedPostgresError,
  ListenError,
  MigrationError,
  SearchIndexError,
];

/** A folder that is missing, full, read-only, another user's, or not a folder. */
const FOLDER_ERRORS = ['EACCES', 'EDQUOT', 'EEXIST', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS'];

/** One or two lines for an error that the user can fix; the stack trace of a bug. */
export const explainError = (error: unknown, config: () => Config): string => {
  if (OPERATIONAL_ERRORS.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code = '', path, message, stack } = error as NodeJS.ErrnoException;
  if (path !== undefined) {
    const isInDataFolder = !relative(dataFolder(config()), path).startsWith('..');
    const blamesFolder = isInDataFolder && FOLDER_ERRORS.includes(code);
    return blamesFolder ? `${message}. DATA_DIR must be a folder that this user can write to.` : message;
  }
  switch (classifyDatabaseError(error)) {
    case 'unreachable':
    case 'interrupted':
      return `The database cannot be reached: ${lastLine(message)}`;
    case 'notMigrated':
      return 'The database is not migrated. Run: plant-store migrate';
    default:
      return stack ?? String(error);
  }
};

/** Prisma's messages begin with the call and end with the cause. */
const lastLine = (message: string) => message.trim().split('\n').at(-1);
