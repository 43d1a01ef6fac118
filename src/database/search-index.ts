import { addAbortListener } from 'node:events';
import type { Client } from 'pg';
import { OperationalError } from '../operational-error.ts';
import { withClient } from './database.ts';
import { assertSession } from './pooler.ts';
import { assertOwner } from './table-owner.ts';

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

type CreateOptions = {
  url: string;
  /** Cancels the creation, and removes what it left. */
  signal: AbortSignal;
  /** Shows what `read` resolves with, such as `building index, 45 %`. @returns a function that stops showing it */
  showProgress: (read: () => Promise<string | undefined>) => () => void;
};

/**
 * Creates the index while the service reads and writes. Replaces an invalid one.
 * @returns whether it was created; false if it exists
 * @throws {OperationalError} errors of PostgreSQL
 */
export const createSearchIndex = ({ url, signal, showProgress }: CreateOptions): Promise<boolean> =>
  withOwner(url, async (client) => {
    const { state } = await readState(client);
    if (state === 'valid') return false;
    const extensionSchema = await installExtension(client);
    if (state === 'invalid') await client.query(DROP);
    await build(client, CREATE(extensionSchema), { url, signal, showProgress });
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
    // Databases from before 1.0 have it.
    await client.query('DROP FUNCTION IF EXISTS merge_pending_names()');
    return state !== 'missing';
  });

/** Calls `use` if the role owns the table and no other command is changing the index. */
const withOwner = async <Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  assertSession(url, 'Changing the search index');
  return withClient(url, async (client) => {
    // A large table takes minutes, and so may transactions that PostgreSQL has to wait for.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET client_min_messages = warning');
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

/** Watches and cancels the creation on a second connection, because the first is busy with it. */
const build = (client: Client, create: string, { url, signal, showProgress }: CreateOptions): Promise<void> =>
  withClient(url, async (watcher) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const pid = rows[0]?.pid;
    const endProgress = showProgress(
      async () => (await watcher.query<{ progress: string }>(PROGRESS, [pid])).rows[0]?.progress,
    );
    const cancel = () => watcher.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => {});
    using _listener = addAbortListener(signal, cancel);
    try {
      signal.throwIfAborted();
      await client.query(create);
    } catch (error) {
      const rest = await client.query(DROP).then(
        () => 'There is no search index.',
        () => 'An incomplete search index is left. Run: plant-store search-index drop',
      );
      throw signal.aborted ? new OperationalError(`Interrupted. ${rest}`) : error;
    } finally {
      endProgress();
    }
  });

/** https://www.postgresql.org/docs/18/progress-reporting.html#CREATE-INDEX-PROGRESS-REPORTING */
const PROGRESS = `
  SELECT phase || CASE
    WHEN lockers_total > 0 THEN format(', transaction %s of %s (process %s)', lockers_done + 1, lockers_total, current_locker_pid)
    WHEN blocks_total > 0 THEN format(', %s %%', 100 * blocks_done / blocks_total)
    ELSE '' END AS progress
  FROM pg_stat_progress_create_index WHERE pid = $1`;
