import { join, relative } from 'node:path';
import type { Config } from '../config/config.ts';
import {
  classifyDatabaseError,
  isPrivilegeMissing,
  OutcomeUnknownError,
  originalMessage,
} from '../database/database-error.ts';
import { describeDatabase } from '../database/describe-database.ts';
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
  if (isPrivilegeMissing(error)) return `The database denies access: ${reasonOf(error)}. ${lookAt(config())}`;
  if (error instanceof OutcomeUnknownError)
    return `The connection to the database was lost, so it is unknown whether anything was changed: ${reasonOf(error.cause)}. ${lookAt(config())}`;
  switch (classifyDatabaseError(error)) {
    case 'unreachable':
    case 'interrupted':
      return `The database cannot be reached: ${reasonOf(error)}. ${lookAt(config())}`;
    case 'notMigrated':
      return 'The database is not migrated. Run: plant-store migrate';
    case 'locked':
    case 'conflict':
      return `Another transaction is in the way: ${reasonOf(error)}. Try again later.`;
    case 'cancelled':
    case 'busy':
      return `The database took too long: ${reasonOf(error)}. Try again later.`;
    case undefined:
      return stack ?? String(error);
  }
};

/** PostgreSQL's message. If there is none, the last line of Prisma's, which begins with the call. */
const reasonOf = (error: unknown): string => {
  const [last = ''] = originalMessage(error).trim().split('\n').slice(-1);
  return last.replace(/\.$/, '');
};

const lookAt = (config: Config): string => {
  const { databaseUrl, directUrl } = config;
  if (databaseUrl === undefined)
    return `It is the embedded PostgreSQL (role "plant_store"). Its log is in ${join(dataFolder(config), 'postgres', 'log')}.`;
  // Some commands use both.
  const direct = directUrl ? `, and DIRECT_URL: ${describeDatabase(directUrl)}` : '';
  return `Check DATABASE_URL: ${describeDatabase(databaseUrl)}${direct}.`;
};
