import { addAbortListener } from 'node:events';
import type { Client } from 'pg';
import { OperationalError } from '../errors.ts';
import { assertOwner } from './check-databases.ts';
import { endWithClient, NO_TIME_LIMITS, withClient } from './database.ts';
import { isDiskFull, isReadOnly } from './database-error.ts';
import { assertSession } from './database-url.ts';

/**
 * The optional index on names: GIN on their trigrams, with PostgreSQL's default settings. The predicate, which always holds,
 * hides the index from Prisma, whose `migrate diff` would take it for drift.
 */
const CREATE = (extensionSchema: string) => `
  CREATE INDEX CONCURRENTLY plants_name_idx ON plants USING gin (name ${extensionSchema}.gin_trgm_ops) WHERE name IS NOT NULL`;
const DROP = 'DROP INDEX CONCURRENTLY IF EXISTS plants_name_idx';

/** The number of the advisory lock of a command that creates or drops the index. */
const LOCK = 7_230_114;

/** `invalid`: its creation was interrupted. Searches do not use it, but every write pays for it. */
export type SearchIndexState = { state: 'missing' | 'invalid' | 'valid'; bytes: number };

/** @throws errors of PostgreSQL, for example if the database is not migrated */
export const readSearchIndex = (url: string): Promise<SearchIndexState> => withClient(url, readState);

/**
 * Creates the index while the service reads and writes. Replaces an invalid one.
 * @param signal closes the connection, with which PostgreSQL ends the creation
 * @param onWarning is called if the index will lack letters
 * @returns whether it was created; false if it exists
 * @throws {OperationalError} errors of PostgreSQL
 */
export const createSearchIndex = (
  url: string,
  signal: AbortSignal,
  onWarning: (message: string) => void,
): Promise<boolean> =>
  withOwner(url, async (client) => {
    const { state } = await readState(client);
    if (state === 'valid') return false;
    const extensionSchema = await installExtension(client);
    if (await lacksLetters(client, extensionSchema)) onWarning(LACKS_LETTERS);
    await endWithClient(client);
    using _listener = addAbortListener(signal, () => client.end().catch(() => {}));
    try {
      if (state === 'invalid') await client.query(DROP);
      await client.query(CREATE(extensionSchema));
    } catch (error) {
      const reason = signal.aborted ? 'Interrupted' : (error as Error).message;
      throw new OperationalError(
        `${reason}. This can leave an incomplete search index, which slows down writes: ` +
          'run search-index create again, or search-index drop.',
        { cause: error },
      );
    }
    return true;
  });

/**
 * Drops the index while the service reads and writes.
 * @returns whether it existed
 * @throws {OperationalError} errors of PostgreSQL
 */
export const dropSearchIndex = (url: string): Promise<boolean> =>
  withOwner(url, async (client) => {
    const { state } = await readState(client);
    if (state !== 'missing') await client.query(DROP);
    return state !== 'missing';
  });

/** Calls `use` if the role owns the table and no other command is changing the index. */
const withOwner = async <Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  assertSession(url, 'Changing the search index');
  return withClient(url, async (client) => {
    // A large table takes minutes, and so may transactions that PostgreSQL has to wait for.
    await client.query(`${NO_TIME_LIMITS}; SET lock_timeout = 0; SET client_min_messages = warning`);
    await assertOwner(client);
    const { rows } = await client.query<{ isAlone: boolean }>('SELECT pg_try_advisory_lock($1) AS "isAlone"', [LOCK]);
    if (!rows[0]?.isAlone)
      throw new OperationalError('Another command is creating or dropping the search index. Wait for it to end.');
    return use(client);
  });
};

const readState = async (client: Client): Promise<SearchIndexState> => {
  const { rows } = await client.query<SearchIndexState>(`
    SELECT CASE WHEN indisvalid THEN 'valid' ELSE 'invalid' END AS state, pg_relation_size(indexrelid)::float8 AS bytes
    FROM pg_index WHERE indexrelid = to_regclass('plants_name_idx') AND indrelid = 'plants'::regclass`);
  return rows[0] ?? { state: 'missing', bytes: 0 };
};

/** @returns the schema of pg_trgm, quoted. @throws {OperationalError} it may not be installed */
const installExtension = async (client: Client): Promise<string> => {
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_trgm').catch((error: Error) => {
    if (isReadOnly(error) || isDiskFull(error)) throw error;
    throw new OperationalError(
      `The search index needs PostgreSQL's extension pg_trgm, which cannot be installed: ${error.message}. ` +
        'Install it as a superuser: CREATE EXTENSION pg_trgm',
      { cause: error },
    );
  });
  const { rows } = await client.query<{ name: string }>(
    "SELECT quote_ident(nspname) AS name FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'pg_trgm'",
  );
  return rows[0]?.name ?? 'public';
};

const LACKS_LETTERS =
  'LC_CTYPE of the database is C, so the index has only the letters of ASCII: searches for others are as slow as without it, and istanbul ' +
  "does not find İstanbul. A database with LOCALE 'C.UTF-8' has all.";

/** The extension takes from LC_CTYPE what a letter is, and a search from the collation, which may be of another provider. */
const lacksLetters = async (client: Client, extensionSchema: string): Promise<boolean> => {
  const { rows } = await client.query<{ isLacking: boolean }>(
    `SELECT lower('É') = 'é' AND ${extensionSchema}.show_trgm('é') = '{}' AS "isLacking"`,
  );
  return rows[0]?.isLacking === true;
};
