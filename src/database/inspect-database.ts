import type { Client } from 'pg';
import { OperationalError } from '../errors.ts';
import { withClient } from './database.ts';
import { classifyDatabaseError } from './database-error.ts';
import { isPooled } from './database-url.ts';

/** The settings that PostgreSQL needs to keep what it has confirmed. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'];
/** Of the tables of the store, `rate_limits` may be UNLOGGED. */
const LOGGED_TABLES = ['plants', 'tokens', 'idempotency_keys', '_prisma_migrations'];
const TABLES = [...LOGGED_TABLES, 'rate_limits'];

/**
 * A column: the settings of the session and the tables with which a crash can lose confirmed plants, such as `fsync = off`; empty if
 * there are none. UNLOGGED tables are found by the init forks of their indexes, because Citus does not read pg_class in every
 * statement.
 */
export const DURABILITY = `concat_ws(', ',
  ${SETTINGS.map((name) => `CASE current_setting('${name}') WHEN 'off' THEN '${name} = off' END`)},
  ${LOGGED_TABLES.map((name) => `CASE WHEN pg_relation_size(to_regclass('${name}_pkey'), 'init') > 0 THEN 'UNLOGGED table ${name}' END`)}
) AS weaknesses`;

/** In ms. */
const HOUR = 3_600_000;

/**
 * Takes what checks read of `DURABILITY`, which come every second.
 * @param warn is called at the first check that finds weaknesses or others, and then once an hour
 */
export const createDurabilityWatch = (warn: (message: string) => void) => {
  const warnedAt = new Map<string, number>();
  return (weaknesses: string): void => {
    const now = performance.now();
    if (weaknesses === '' || now - (warnedAt.get(weaknesses) ?? Number.NEGATIVE_INFINITY) < HOUR) return;
    warnedAt.set(weaknesses, now);
    warn(
      `PostgreSQL can lose confirmed plants in a crash: ${weaknesses}. Set fsync, full_page_writes and synchronous_commit to on, for ` +
        'the server, the database and the role, and each table to LOGGED (ALTER TABLE … SET LOGGED)',
    );
  };
};

/** A database as a session of the store sees it. */
export type DatabaseFacts = {
  database: string;
  /** When the server started, in s since 1970; null on Citus, which has several. */
  serverStart: string | null;
  encoding: string;
  /** One with which PostgreSQL does not keep or find exactly what it is given. */
  inexactSetting: 'array_nulls' | 'gin_fuzzy_search_limit' | null;
  role: string;
  /** The role that has logged in, whose settings the session has; after SET ROLE, `role` is another. */
  login: string;
  searchPath: string;
  /** The first schema of the search path that exists. */
  currentSchema: string | null;
  /** The schemas in which the search path finds the tables of the store. */
  tables: Record<string, string>;
  /** The schemas of the search path in which the role may create tables. */
  creatable: string[];
  /** Of the table plants. */
  owner: string | null;
  isOwner: boolean | null;
  /** Whether searches by name ignore the case of É and é, and of I and i. */
  ignoresCase: boolean;
  /** Whether they find a Σ within a word; null if the encoding has none. */
  findsSigma: boolean | null;
  /** By default, of a transaction: such as `read committed`. */
  isolation: string;
  /** In ms; 0: none. */
  statementTimeout: number;
  lockTimeout: number;
  /** Imports need it. */
  mayCreateTemporary: boolean;
  /** The last uses of tokens. Null: there is no table of them. */
  mayNoteUses: boolean | null;
  /** See `DURABILITY`. */
  weaknesses: string;
};

/** A text in UTF-8: a statement with the text itself fails in a database whose encoding lacks a character of it. */
const textOf = (text: string) => `convert_from(decode('${Buffer.from(text).toString('hex')}', 'hex'), 'UTF8')`;

const FACTS = `
  SELECT current_database() AS database, current_setting('server_encoding') AS encoding, current_user AS role, session_user AS login,
    CASE WHEN to_regclass('pg_catalog.pg_dist_partition') IS NULL
      THEN extract(epoch FROM pg_postmaster_start_time())::text END AS "serverStart",
    (SELECT name FROM pg_settings WHERE (name, setting) = ('array_nulls', 'off') OR name = 'gin_fuzzy_search_limit' AND setting <> '0'
      LIMIT 1) AS "inexactSetting",
    current_setting('search_path') AS "searchPath", current_schema() AS "currentSchema",
    (SELECT coalesce(json_object_agg(relname, nspname), '{}') FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
      WHERE pg_class.oid IN (${TABLES.map((name) => `to_regclass('${name}')`)})) AS tables,
    ARRAY(SELECT name::text FROM unnest(current_schemas(FALSE)) AS name WHERE has_schema_privilege(name, 'CREATE')) AS creatable,
    (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('plants')) AS owner,
    (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('plants')) AS "isOwner",
    'É' ILIKE 'é' AND 'I' ILIKE 'i' AS "ignoresCase",
    CASE current_setting('server_encoding') WHEN 'UTF8'
      THEN ${textOf('ΑΣΑ')} COLLATE "default" ILIKE ${textOf('%ΑΣ%')} END AS "findsSigma",
    current_setting('default_transaction_isolation') AS isolation,
    (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS "statementTimeout",
    (SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout') AS "lockTimeout",
    has_database_privilege(current_database(), 'TEMPORARY') AS "mayCreateTemporary",
    has_any_column_privilege(to_regclass('tokens'), 'UPDATE') AS "mayNoteUses",
    ${DURABILITY}`;

export const readFacts = async (client: Client): Promise<DatabaseFacts> =>
  (await client.query<DatabaseFacts>(FACTS)).rows[0] as DatabaseFacts;

/** How long a database may take to respond, in ms. */
const RESPONSE_TIMEOUT = 5000;

/** Whether something between here and PostgreSQL drops startup parameters, as PgBouncer does with ignore_startup_parameters. */
export const losesParameters = (url: string, { statementTimeout }: DatabaseFacts): boolean =>
  !isPooled(url) && !new URL(url).searchParams.has('statement_timeout') && statementTimeout !== RESPONSE_TIMEOUT;

export const POOLER_ADVICE =
  'add ?pgbouncer=true to DATABASE_URL, and set DIRECT_URL to a URL of PostgreSQL without a pooler (docs/how-to/pgbouncer.md)';

/**
 * @returns no facts, but the failure, if the database does not respond: the service also starts without its database, and other
 *   commands report the failure themselves
 * @throws {OperationalError} a pooler refuses the startup parameters of the service, which are sent here too
 */
export const inspectDatabase = (url: string): Promise<{ facts?: DatabaseFacts; failure?: Error }> =>
  withClient(url, readFacts, {
    query_timeout: RESPONSE_TIMEOUT,
    ...(!isPooled(url) && { statement_timeout: RESPONSE_TIMEOUT }),
  }).then(
    (facts) => ({ facts }),
    (failure) => {
      if (/unsupported startup parameter/.test(failure.message))
        throw new OperationalError(`A pooler refuses time limits: ${POOLER_ADVICE}. It says: ${failure.message}.`);
      if (classifyDatabaseError(failure) === undefined) throw failure;
      return { failure };
    },
  );
