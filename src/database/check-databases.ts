import { type Client, escapeIdentifier } from 'pg';
import { OperationalError } from '../errors.ts';
import { assertUsable, ignoredParameters, isPooled, namedSchema } from './database-url.ts';
import { type DatabaseFacts, inspectDatabase, losesParameters, POOLER_ADVICE, readFacts } from './inspect-database.ts';
import { assertNoPooledSchema, assertSchemaUsable, storeSchema } from './store-schema.ts';

/** `facts`: undefined if the database does not respond, because of the failure. `variable` names it. */
export type InspectedDatabase = { variable: string; url: string; facts?: DatabaseFacts; failure?: Error };

type DatabasesOptions = { databaseUrl: string; directUrl: string | undefined; isMigrated: boolean };

/**
 * Checks what the service and every command require of the databases at DATABASE_URL and DIRECT_URL: URLs that the driver can use,
 * exact texts and searches, one database, and one schema for all statements (see `storeSchema`). A database that does not respond
 * passes, here and below; see `inspectDatabase`.
 * @param options `isMigrated`: no migration follows, which would create the schema that `?schema=` names, and the tables in it
 * @returns that at DATABASE_URL, and that at DIRECT_URL if it is set
 * @throws {OperationalError}
 */
export const checkDatabases = async (options: DatabasesOptions): Promise<InspectedDatabase[]> => {
  const { databaseUrl, directUrl, isMigrated } = options;
  const urls = { DATABASE_URL: databaseUrl, ...(directUrl && { DIRECT_URL: directUrl }) };
  for (const [variable, url] of Object.entries(urls)) assertUsable(variable, url);
  for (const [variable, url] of Object.entries(urls)) assertNoPooledSchema(variable, url);
  const databases = await Promise.all(
    Object.entries(urls).map(async ([variable, url]) => ({ variable, url, ...(await inspectDatabase(url)) })),
  );
  for (const { facts } of databases) if (facts) assertExact(facts);
  const [found, direct = found] = databases.flatMap(({ facts }) => facts ?? []);
  if (found?.database !== direct?.database || found?.serverStart !== direct?.serverStart) {
    const other = found?.database === direct?.database ? 'one of another server' : direct?.database;
    throw new OperationalError(
      `DATABASE_URL leads to the database ${found?.database}, and DIRECT_URL to ${other}. Set both to the same database, or unset DIRECT_URL.`,
    );
  }
  const [schema, other] = databases.map(({ url, facts }) => (facts ? storeSchema(url, facts) : namedSchema(url)));
  if (schema !== undefined && other !== undefined && schema !== other)
    throw new OperationalError(
      `DATABASE_URL uses the schema ${escapeIdentifier(schema)}, and DIRECT_URL ${escapeIdentifier(other)}. They must agree: set ?schema= in ` +
        'both URLs or in none, and the search_path of both roles (ALTER ROLE … SET search_path).',
    );
  for (const { variable, url, facts } of databases) {
    if (!facts || !isMigrated) continue;
    assertSchemaUsable(variable, url, facts);
    assertOneSchema(variable, url, facts);
  }
  return databases;
};

/** What is wrong with the setting, and what it must be. */
const INEXACT_SETTINGS = {
  array_nulls: ['is off, so a missing tag would be stored as the text NULL', 'on'],
  gin_fuzzy_search_limit: ['is set, so searches by name would miss plants', '0'],
} as const;

/** Texts, and tags that are missing, must arrive as they were sent, and searches must find all plants. */
const assertExact = ({ encoding, inexactSetting, login }: DatabaseFacts) => {
  if (inexactSetting !== null) {
    const [why, wanted] = INEXACT_SETTINGS[inexactSetting];
    throw new OperationalError(
      `${inexactSetting} ${why}. Run ALTER ROLE ${escapeIdentifier(login)} SET ${inexactSetting} = ${wanted}, or remove the setting from ` +
        'the role in this database, the database or the server.',
    );
  }
  if (encoding === 'UTF8') return;
  throw new OperationalError(
    `The encoding of the database is ${encoding}, but Plant Store requires UTF8. ` +
      'Create another database: createdb --template template0 --encoding UTF8 NAME',
  );
};

/** A table of another program, in another schema of the search path, must not be taken for one of the store. */
const assertOneSchema = (variable: string, url: string, facts: DatabaseFacts) => {
  const schema = storeSchema(url, facts);
  const others = Object.entries(facts.tables).filter(([, other]) => other !== schema);
  if (schema === undefined || others.length === 0) return;
  throw new OperationalError(
    `The store of ${variable} is in the schema ${escapeIdentifier(schema)}, but the search_path (${facts.searchPath}) finds ` +
      `${others.map(([table, other]) => `${table} in ${escapeIdentifier(other)}`).join(', ')}. ` +
      'Run plant-store migrate if that schema has no store yet, or name the schema of the store: ?schema= in the URL.',
  );
};

/** The longest that a statement may wait for a lock, in ms, so that clients get a response within 2 s. */
const MAX_LOCK_TIMEOUT = 1000;

/**
 * Checks that the role of a pooled URL has time limits, since the service cannot set any for its session.
 * @param limit the longest statement that the service can use, in ms
 * @throws {OperationalError}
 */
export const assertTimeLimits = ({ url, facts }: Omit<InspectedDatabase, 'variable'>, limit: number): void => {
  if (!isPooled(url) || !facts) return;
  const { login, statementTimeout, lockTimeout } = facts;
  const isWithin = (timeout: number, most: number) => timeout > 0 && timeout <= most;
  if (isWithin(statementTimeout, limit) && isWithin(lockTimeout, MAX_LOCK_TIMEOUT)) return;
  const alter = `ALTER ROLE ${escapeIdentifier(login)} SET`;
  throw new OperationalError(
    `The role ${login} has a statement_timeout of ${statementTimeout} ms and a lock_timeout of ${lockTimeout} ms. Through a pooler ` +
      `(pgbouncer=true) they must be 1 to ${limit} ms and 1 to ${MAX_LOCK_TIMEOUT} ms. As this role or a superuser, run: ` +
      `${alter} statement_timeout = '${limit}ms'; ${alter} lock_timeout = '400ms'; and in the console of PgBouncer: RECONNECT`,
  );
};

/**
 * @param isMigrated no migration has created tables since the databases were inspected
 * @returns why requests will fail, or searches miss plants, or what is ignored, for the log. Imports use the last of the databases
 */
export const findObstacles = (
  databases: readonly InspectedDatabase[],
  { isMigrated }: Pick<DatabasesOptions, 'isMigrated'>,
): string[] => {
  const [facts, forImports] = [databases[0]?.facts, databases.at(-1)];
  const ignored = databases.map(({ variable, url }) => {
    const names = ignoredParameters(url);
    return (
      names.length > 0 && `the driver does not know the parameters ${names.join(', ')} of ${variable}, and ignores them`
    );
  });
  return [
    ...ignored,
    isMigrated &&
      facts &&
      !facts.tables.plants &&
      `no schema of the search_path (${facts.searchPath}) has a table plants. Run plant-store migrate, or if it has been run, set the ` +
        `search_path to its schema: ALTER ROLE ${escapeIdentifier(facts.login)} SET search_path, or ?schema= in the URL`,
    databases[0]?.facts &&
      losesParameters(databases[0].url, databases[0].facts) &&
      `a pooler drops time limits. If it is in transaction mode, requests will fail: ${POOLER_ADVICE}`,
    isPooled(forImports?.url)
      ? 'imports need DIRECT_URL, a URL of PostgreSQL without a pooler'
      : forImports?.facts?.mayCreateTemporary === false &&
        `imports need the privilege TEMPORARY: GRANT TEMPORARY ON DATABASE … TO ${escapeIdentifier(forImports.facts.role)}`,
    facts?.mayNoteUses === false &&
      `token list shows no last uses: GRANT UPDATE (last_used_at) ON tokens TO ${escapeIdentifier(facts.role)}`,
    facts?.ignoresCase === false
      ? 'searches by name take É and é, or I and i, for different letters, because of the locale of the database. Move the plants to ' +
        "one with another: CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'"
      : facts?.findsSigma === false &&
        'searches by name miss a Greek Σ, because ICU takes it for the end of a word. Move the plants to a database with another locale: ' +
          "CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C.UTF-8'",
    facts &&
      !/^read (un)?committed$/.test(facts.isolation) &&
      `default_transaction_isolation is ${facts.isolation}, so concurrent requests for the same plants fail with code 1500. ` +
        `Run ALTER ROLE ${escapeIdentifier(facts.login)} SET default_transaction_isolation = 'read committed', or remove the setting from ` +
        'the role in this database, the database or the server.',
  ].filter((obstacle) => typeof obstacle === 'string');
};

/** @throws {OperationalError} the database is not migrated, or the role of the connection does not own its tables */
export const assertOwner = async (client: Client): Promise<void> => {
  const { owner, isOwner, searchPath } = await readFacts(client);
  if (owner === null)
    throw new OperationalError(`The search_path (${searchPath}) has no table plants. Run: plant-store migrate`);
  if (!isOwner)
    throw new OperationalError(`Only the owner of the table plants may do this. Connect as the role ${owner}.`);
};
