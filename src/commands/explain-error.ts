import { relative } from 'node:path';
import type { Config } from '../config/config.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { OperationalError } from '../operational-error.ts';
import { dataFolder } from './with-database.ts';

/** A folder that is missing, full, read-only, another user's, or not a folder. */
const FOLDER_ERRORS = ['EACCES', 'EDQUOT', 'EEXIST', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS'];

/** One or two lines for an error that the user can fix; the stack trace of a bug. */
export const explainError = (error: unknown, config: () => Config): string => {
  if (error instanceof OperationalError) return error.message;
  const { code = '', path, message, stack } = error as NodeJS.ErrnoException;
  if (path !== undefined) {
    const isInDataFolder = !relative(dataFolder(config()), path).startsWith('..');
    const blamesFolder = isInDataFolder && FOLDER_ERRORS.includes(code);
    return blamesFolder ? `${message}. DATA_DIR must be a folder that this user can write to.` : message;
  }
  switch (classifyDatabaseError(error)) {
    case 'unreachable':
    case 'interrupted':
      // Prisma's messages begin with the call and end with the cause.
      return `The database cannot be reached: ${message.trim().split('\n').at(-1)}`;
    case 'notMigrated':
      return 'The database is not migrated. Run: plant-store migrate';
    default:
      return stack ?? String(error);
  }
};
