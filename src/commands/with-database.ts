import { join, relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { checkDatabases, type InspectedDatabase } from '../database/check-databases.ts';
import { COMMAND_CONNECT_TIMEOUT, createDatabase, createPool, type Database } from '../database/database.ts';
import {
  classifyDatabaseError,
  isPrivilegeMissing,
  isRuleViolation,
  OutcomeUnknownError,
  originalMessage,
} from '../database/database-error.ts';
import { describeDatabase } from '../database/database-url.ts';
import { migrate } from '../database/migrate.ts';
import { leaseEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { isOfKind, OperationalError, StoreError } from '../errors.ts';
import { createTokenRepository, type TokenRepository } from '../tokens/token-repository.ts';
import { note } from './output.ts';

export const projectFolder = resolve(import.meta.dirname, '..', '..');

/** The folder of `.env`. An installed package is JavaScript, and uses the current folder, since npm may delete its own. */
export const homeFolder = import.meta.filename.endsWith('.js') ? process.cwd() : projectFolder;

/** The folder of the embedded PostgreSQL and the local token. A relative DATA_DIR is relative to the one of `.env`. */
export const dataFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => resolve(homeFolder, dataDir);

/**
 * Calls `use` with the URL of the database: DATABASE_URL, or that of the embedded PostgreSQL, which runs until then. By
 * default only the embedded one is migrated first, so that a token can be created before the first start: services of
 * another release may be using the database at DATABASE_URL. `applied`: the migrations that this applied.
 * @throws {OperationalError}
 */
export const withDatabase = async <Result>(
  config: Config,
  use: (url: string, databases: InspectedDatabase[], applied: string[]) => Promise<Result>,
  { migrates = config.databaseUrl === undefined } = {},
): Promise<Result> => {
  const { url, release = async () => {} } =
    config.databaseUrl === undefined
      ? await leaseEmbeddedPostgres(dataFolder(config), config.embeddedWalLevel)
      : { url: config.databaseUrl };
  try {
    const databases = await checkDatabases({ databaseUrl: url, directUrl: config.directUrl, isMigrated: !migrates });
    const applied = migrates ? await migrate(config.directUrl ?? url, note) : [];
    return await use(url, databases, applied);
  } finally {
    await release();
  }
};

/** Like `withDatabase`, for commands that need a session or hold a connection for long: uses DIRECT_URL if it is set. */
export const withSession = <Result>(config: Config, use: (url: string) => Promise<Result>): Promise<Result> =>
  withDatabase(config, (url) => use(config.directUrl ?? url));

/** How long a command waits for a statement, in ms. */
const STATEMENT_TIMEOUT = 10_000;

/** Calls `use` with Prisma, which has one connection. */
export const withPrisma = async <Result>(
  url: string,
  use: (database: Database) => Promise<Result>,
  limits: { statementTimeout: number; lockTimeout?: number } = { statementTimeout: STATEMENT_TIMEOUT },
): Promise<Result> => {
  const pool = createPool({ ...limits, url, connections: 1, connectTimeout: COMMAND_CONNECT_TIMEOUT });
  const database = createDatabase({ pool, onConnectionLost: () => {} });
  // First, so that a statement has all of its time.
  (await pool.connect()).release();
  // Not by `$disconnect`, which does nothing before the first statement.
  return use(database).finally(() => pool.end());
};

export const withTokens = <Result>(url: string, use: (tokens: TokenRepository) => Promise<Result>): Promise<Result> =>
  withPrisma(url, (database) => use(createTokenRepository({ database })));

/** A folder that is missing, full, read-only, another user's, or not a folder. */
const FOLDER_ERRORS = ['EACCES', 'EDQUOT', 'EEXIST', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS'];

/** One or two lines for an error that the user can fix; the stack trace of a bug. */
export const explainError = (error: unknown, config: () => Config): string => {
  const rejection = isOfKind(error, 'fieldWrong') ? error.cause : error;
  if (isRuleViolation(rejection)) return `The database rejected it: ${reasonOf(rejection)}.`;
  if (error instanceof OperationalError || error instanceof StoreError) return error.message;
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
      return `The database is not available: ${reasonOf(error)}. ${lookAt(config())}`;
    case 'notMigrated':
      return `The database is not migrated. Run: plant-store migrate. If it is, the search_path leads elsewhere. ${lookAt(config())}`;
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

/** What to do about errors of the driver that do not say it. */
const ADVICE: [message: RegExp, advice: string][] = [
  [/client password must be/, 'a password is needed, in the URL or PGPASSWORD'],
  [/self-signed certificate|unable to (verify|get)/, 'name the file of its authority in the URL: sslrootcert='],
];

/** PostgreSQL's message. If there is none, the last line of Prisma's, which begins with the call. */
const reasonOf = (error: unknown): string => {
  const [last = ''] = originalMessage(error).trim().split('\n').slice(-1);
  const [, advice] = ADVICE.find(([message]) => message.test(last)) ?? [];
  return `${last.replace(/\.$/, '')}${advice ? ` (${advice})` : ''}`;
};

const lookAt = (config: Config): string => {
  const { databaseUrl, directUrl } = config;
  if (databaseUrl === undefined)
    return `It is the embedded PostgreSQL (role "plant_store"). Its log is in ${join(dataFolder(config), 'postgres', 'log')}.`;
  // Some commands use both.
  const direct = directUrl ? `, and DIRECT_URL: ${describeDatabase(directUrl)}` : '';
  return `Check DATABASE_URL: ${describeDatabase(databaseUrl)}${direct}.`;
};
