import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Client, DatabaseError, escapeIdentifier } from 'pg';
import { OperationalError } from '../errors.ts';
import { endWithClient, NO_TIME_LIMITS, withClient } from './database.ts';
import { classifyDatabaseError, isDeadlock, isLockTimeout, isTableTaken, toWriteError } from './database-error.ts';
import { assertSession } from './database-url.ts';
import { migrationsFolder, readMigrationState } from './migration-state.ts';
import { createNamedSchema } from './store-schema.ts';

/** The number of the advisory lock that processes take to migrate. All releases must use the same one. */
const MIGRATION_LOCK = 7_230_113;
/** In ms. */
const LOCK_POLL_INTERVAL = 100;
/** How long a statement of a migration waits for a lock, since others wait behind it, and the pause before the next attempt. In ms. */
const LOCK_TIMEOUT = 2000;
const PAUSE = 1000;

/** Called once if a migration has to wait for other transactions, and once if for another migration. */
type OnWait = (message: string) => void;

/**
 * Applies the migrations that are missing, each in a transaction. Several processes may call this at once: one migrates, the
 * others wait.
 * @returns the names of the migrations applied
 * @throws {OperationalError}
 */
export const migrate = async (url: string, onWait: OnWait = () => {}): Promise<string[]> => {
  assertSession(url, 'Migrating');
  return withClient(url, async (client) => {
    // If its session ended, another process could migrate at the same time.
    await client.query(NO_TIME_LIMITS);
    await endWithClient(client);
    await takeLock(client, onWait);
    await createNamedSchema(client, url);
    const { schema, missing, unfinished, mayMigrate } = await readMigrationState(client, url);
    if (missing.length === 0) return [];
    if (!mayMigrate)
      throw new OperationalError(
        `The database lacks migrations (${missing.join(', ')}), and the role in DATABASE_URL may not apply them. ` +
          'As the role that owns the tables, run: plant-store migrate',
      );
    if (unfinished.length > 0) throw new OperationalError(`${UNFINISHED} ${unfinished.join(', ')}. ${REMEDY}`);
    await client.query(`SET search_path = ${escapeIdentifier(schema)}; SET lock_timeout = ${LOCK_TIMEOUT}`);
    for (const name of missing) await applyPatiently(client, name, onWait);
    return missing;
  });
};

/** Prisma's command line applies a migration without a transaction. */
const UNFINISHED = "Begun by an older build or Prisma's command line, and not finished:";
const REMEDY =
  'Undo what it did, then run DELETE FROM _prisma_migrations WHERE finished_at IS NULL (docs/how-to/migrate-and-upgrade.md).';

/** Polls. A blocked pg_advisory_lock() would hold up each CREATE INDEX CONCURRENTLY, such as that of the search index. */
const takeLock = async (client: Client, onWait: OnWait) => {
  const isTaken = async () => {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      MIGRATION_LOCK,
    ]);
    return rows[0]?.taken;
  };
  for (let polls = 1; !(await isTaken()); polls++) {
    // After 2 s. Others usually migrate faster.
    if (polls === 20) onWait('Another process migrates the database; waiting for it.');
    await setTimeout(LOCK_POLL_INTERVAL);
  }
};

/** Tries again, with pauses, while another transaction is in the way. */
const applyPatiently = async (client: Client, name: string, onWait: OnWait): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await apply(client, name);
    } catch (error) {
      if (!isLockTimeout(error) && !isDeadlock(error)) throw explain(error, name);
    }
    if (attempt === 1)
      onWait('The migration waits for other transactions on the tables of the store. It goes on once they end.');
    await setTimeout(PAUSE);
  }
};

/** The table of Prisma's command line, so that it knows which migrations a database has. */
const CREATE_RECORDS = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id varchar(36) NOT NULL PRIMARY KEY,
    checksum varchar(64) NOT NULL,
    finished_at timestamptz,
    migration_name varchar(255) NOT NULL,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now(),
    applied_steps_count integer NOT NULL DEFAULT 0
  )`;
const RECORD = `
  INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
  VALUES ($1, $2, $3, clock_timestamp(), 1)`;

const apply = async (client: Client, name: string) => {
  const script = readFileSync(join(migrationsFolder, name, 'migration.sql'));
  const checksum = createHash('sha256').update(script).digest('hex');
  await client.query('BEGIN');
  try {
    await client.query(CREATE_RECORDS);
    // One by one, because Citus refuses several at once that change its tables.
    for (const statement of script.toString().split(/;\s*$/m)) await client.query(statement);
    await client.query(RECORD, [randomUUID(), checksum, name]);
    await client.query('COMMIT').catch((error) => {
      throw toWriteError(error);
    });
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
};

const NAME_TAKEN = 'If it belongs to another program, use another schema: ?schema= in the URL.';

const explain = (error: unknown, name: string): unknown => {
  if (!(error instanceof DatabaseError) || classifyDatabaseError(error) === 'interrupted') return error;
  const advice = isTableTaken(error) ? NAME_TAKEN : 'Fix the cause, and migrate again.';
  return new OperationalError(`The migration ${name} was undone: ${error.message.replace(/\.$/, '')}. ${advice}`, {
    cause: error,
  });
};
