import { addAbortListener } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { CONNECT_TIMEOUT } from './database.ts';

/**
 * The optional index on names: GIN on their trigrams, with PostgreSQL's default settings. The predicate, which always holds,
 * hides the index from Prisma, whose `migrate diff` would take it for drift.
 */
const CREATE = (extensionSchema: string) => `
  CREATE INDEX CONCURRENTLY plants_name_idx ON plants USING gin (name ${extensionSchema}.gin_trgm_ops) WHERE name IS NOT NULL`;
const DROP = 'DROP INDEX CONCURRENTLY plants_name_idx';

/** The number of the advisory lock of a command that creates or drops the index. */
const LOCK = 7_230_114;
/** In ms. */
const PROGRESS_INTERVAL = 500;

/** The search index cannot be created or dropped; `message` says what to do. */
export class SearchIndexError extends Error {
  override name = 'SearchIndexError';
}

/** `invalid`: its creation was interrupted. Searches do not use it, but every write pays for it. */
export type SearchIndexState = { state: 'missing' | 'invalid' | 'valid'; bytes: number };

/** @throws errors of PostgreSQL, for example if the database is not migrated */
export const readSearchIndex = (url: string): Promise<SearchIndexState> => withClient(url, readState);

type CreateOptions = {
  url: string;
  /** Cancels the creation, and removes what it left. */
  signal: AbortSignal;
  /** Called with a description such as `building index, 45 %`. */
  onProgress: (progress: string) => void;
};

/**
 * Creates the index while the service reads and writes. Replaces an invalid one.
 * @returns whether it was created; false if it exists
 * @throws {SearchIndexError} the signal's reason; errors of PostgreSQL
 */
export const createSearchIndex = ({ url, signal, onProgress }: CreateOptions): Promise<boolean> =>
  withOwner(url, async (client) => {
    const { state } = await readState(client);
    if (state === 'valid') return false;
    const extensionSchema = await installExtension(client);
    if (state === 'invalid') await client.query(DROP);
    signal.throwIfAborted();
    await build(client, CREATE(extensionSchema), { url, signal, onProgress });
    return true;
  });

/**
 * Drops the index while the service reads and writes.
 * @returns whether it existed
 * @throws {SearchIndexError} errors of PostgreSQL
 */
export const dropSearchIndex = (url: string): Promise<boolean> =>
  withOwner(url, async (client) => {
    const { state } = await readState(client);
    if (state !== 'missing') await client.query(DROP);
    return state !== 'missing';
  });

const withClient = async <Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT, keepAlive: true });
  // A broken connection fails the query too. Without a listener, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end();
  }
};

/** Calls `use` if the role owns the table and no other command is changing the index. */
const withOwner = <Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> =>
  withClient(url, async (client) => {
    // A large table takes minutes, and so may transactions that PostgreSQL has to wait for.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0');
    const { rows } = await client.query<{ owns: boolean; owner: string }>(`
      SELECT pg_has_role(relowner, 'USAGE') AS owns, pg_get_userbyid(relowner) AS owner
      FROM pg_class WHERE oid = 'plants'::regclass`);
    const [table] = rows;
    if (!table?.owns)
      throw new SearchIndexError(
        `Only the owner of the table plants may do this. Connect as the role ${table?.owner}.`,
      );
    const lock = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [LOCK]);
    if (!lock.rows[0]?.taken)
      throw new SearchIndexError('Another command is creating or dropping the search index. Wait for it to end.');
    return use(client);
  });

const readState = async (client: Client): Promise<SearchIndexState> => {
  const { rows } = await client.query<{ valid: boolean; bytes: string }>(`
    SELECT indisvalid AS valid, pg_relation_size(indexrelid) AS bytes
    FROM pg_index WHERE indexrelid = to_regclass('plants_name_idx') AND indrelid = 'plants'::regclass`);
  const [index] = rows;
  if (!index) return { state: 'missing', bytes: 0 };
  return { state: index.valid ? 'valid' : 'invalid', bytes: Number(index.bytes) };
};

/** @returns the schema of pg_trgm, quoted. @throws {SearchIndexError} it may not be installed */
const installExtension = async (client: Client): Promise<string> => {
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_trgm');
  } catch (error) {
    const reason = (error as Error).message;
    throw new SearchIndexError(
      `The search index needs PostgreSQL's extension pg_trgm, which cannot be installed: ${reason}. ` +
        'Install it as a superuser: CREATE EXTENSION pg_trgm',
      { cause: error },
    );
  }
  const { rows } = await client.query<{ name: string }>(
    "SELECT quote_ident(nspname) AS name FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'pg_trgm'",
  );
  return rows[0]?.name ?? 'public';
};

/** Watches and cancels the creation on a second connection, because the first is busy with it. */
const build = (client: Client, create: string, { url, signal, onProgress }: CreateOptions): Promise<void> =>
  withClient(url, async (watcher) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const pid = rows[0]?.pid;
    const watching = new AbortController();
    const progress = watch(watcher, pid, onProgress, watching.signal);
    const cancel = () => watcher.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => {});
    using _listener = addAbortListener(signal, cancel);
    try {
      await client.query(create);
    } catch (error) {
      await client.query('DROP INDEX CONCURRENTLY IF EXISTS plants_name_idx').catch(() => {});
      throw signal.aborted ? signal.reason : error;
    } finally {
      watching.abort();
      await progress;
    }
  });

/** Reports what PostgreSQL is doing until the signal is aborted. */
const watch = async (watcher: Client, pid: number | undefined, report: (text: string) => void, signal: AbortSignal) => {
  while (!signal.aborted) {
    const { rows } = await watcher
      .query<{ progress: string }>(PROGRESS, [pid])
      .catch(() => ({ rows: [] as { progress: string }[] }));
    if (rows[0]) report(rows[0].progress);
    await setTimeout(PROGRESS_INTERVAL, undefined, { signal }).catch(() => {});
  }
};

/** https://www.postgresql.org/docs/18/progress-reporting.html#CREATE-INDEX-PROGRESS-REPORTING */
const PROGRESS = `
  SELECT phase || CASE
    WHEN lockers_total > 0 THEN format(', transaction %s of %s (process %s)', lockers_done + 1, lockers_total, current_locker_pid)
    WHEN blocks_total > 0 THEN format(', %s %%', 100 * blocks_done / blocks_total)
    ELSE '' END AS progress
  FROM pg_stat_progress_create_index WHERE pid = $1`;
