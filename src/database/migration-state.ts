import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type ClientBase, escapeIdentifier } from 'pg';
import { OperationalError, StoreError } from '../errors.ts';
import { isPrivilegeMissing } from './database-error.ts';
import { DURABILITY, readFacts } from './inspect-database.ts';
import { assertSchemaUsable, storeSchema } from './store-schema.ts';

export const migrationsFolder = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

/** The migrations of this release, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

type BegunMigration = { name: string; isFinished: boolean };

const SELECT_BEGUN = `
  SELECT migration_name AS name, finished_at IS NOT NULL AS "isFinished" FROM _prisma_migrations WHERE rolled_back_at IS NULL`;

const missingFrom = (begun: BegunMigration[]): string[] =>
  migrationNames.filter((name) => !begun.some((migration) => migration.name === name && migration.isFinished));

/**
 * Reads which migrations of this release the schema of the store lacks, which another program has begun and not finished, and
 * whether the connection's role may apply them: it may create tables and owns the existing ones. Works on an empty database too.
 * @throws {OperationalError} there is no schema, or its migrations are those of another program
 */
export const readMigrationState = async (client: Client, url: string) => {
  const facts = await readFacts(client);
  assertSchemaUsable('the database', url, facts);
  const schema = storeSchema(url, facts) as string;
  const isNew = facts.tables._prisma_migrations !== schema;
  const { rows } = isNew ? { rows: [] } : await client.query<BegunMigration>(SELECT_BEGUN);
  const ours = rows.filter(({ name }) => migrationNames.includes(name));
  const [other] = rows;
  if (other && ours.length === 0)
    throw new OperationalError(
      `The table _prisma_migrations in the schema ${escapeIdentifier(schema)} has the migrations of another program, such as ${other.name}. ` +
        'Use another schema: ?schema= in the URL.',
    );
  const ownsTables = facts.tables.plants !== schema || facts.isOwner;
  return {
    schema,
    missing: missingFrom(ours),
    unfinished: ours.filter(({ isFinished }) => !isFinished).map(({ name }) => name),
    mayMigrate: facts.creatable.includes(schema) && ownsTables,
  };
};

/**
 * Checks that the database has all migrations of this release, possibly those of a newer one too, and accepts writes from the role.
 * @returns what could lose confirmed plants in a crash; see `DURABILITY`
 * @throws {StoreError} code 1502: migrations are missing, the role lacks privileges, or policies of row-level security
 * @throws an error of the driver if the database cannot be reached or written to
 */
export const assertReadyToServe = async (client: ClientBase): Promise<string> => {
  const { rows: begun } = await client.query<BegunMigration>(SELECT_BEGUN).catch((error) => {
    throw isPrivilegeMissing(error) ? roleLacks('SELECT on _prisma_migrations') : error;
  });
  const missing = missingFrom(begun);
  if (missing.length > 0) {
    const cause = new Error(`Missing migrations: ${missing.join(', ')}`);
    throw new StoreError('databaseNotMigrated', undefined, { cause });
  }
  const { rows } = await client.query<SessionState>(SELECT_STATE, [USES]);
  const { isReadOnly, weaknesses, denied, hidden } = rows[0] as SessionState;
  // A write, which changes nothing here, fails with the reason.
  if (isReadOnly) await client.query('DELETE FROM plants WHERE FALSE');
  if (denied) throw roleLacks(denied);
  if (hidden)
    throw new StoreError('databaseNotMigrated', `No policy of row-level security allows the service ${hidden}.`);
  return weaknesses;
};

const roleLacks = (privileges: string) =>
  new StoreError('databaseNotMigrated', `The role of the service lacks ${privileges}, or there is no such table.`);

/** What requests do with the tables. A privilege for some of the columns is enough. */
const USES = Object.entries({
  plants: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tokens: ['SELECT'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  rate_limits: ['SELECT', 'INSERT', 'UPDATE'],
}).flatMap(([table, privileges]) => privileges.map((privilege) => `${privilege} on ${table}`));

/**
 * `denied`: the uses that the role has no privilege for, or no table. `hidden`: those for which row-level security has no policy, and so
 * hides all rows: lists would be empty, and no plant deleted. With Citus, where keys are refused, the workers have no table for them.
 */
type SessionState = { isReadOnly: boolean; weaknesses: string; denied: string | null; hidden: string | null };
const SELECT_STATE = `
  SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly", ${DURABILITY},
    string_agg(use, ', ' ORDER BY place) FILTER (WHERE CASE command WHEN 'DELETE' THEN has_table_privilege(used, command)
      ELSE has_any_column_privilege(used, command) END IS NOT TRUE) AS denied,
    string_agg(use, ', ' ORDER BY use) FILTER (WHERE row_security_active(used) AND NOT EXISTS (
      SELECT FROM pg_policy WHERE polrelid = used AND polpermissive
        AND polcmd::text IN ('*', CASE command WHEN 'SELECT' THEN 'r' WHEN 'INSERT' THEN 'a' WHEN 'UPDATE' THEN 'w' ELSE 'd' END)
        AND EXISTS (SELECT FROM unnest(polroles) AS role WHERE role = 0 OR pg_has_role(role, 'USAGE')))) AS hidden
  FROM unnest($1::text[]) WITH ORDINALITY AS uses (use, place), split_part(use, ' ', 1) AS command, to_regclass(split_part(use, ' ', 3)) AS used
  WHERE used IS NOT NULL OR use NOT LIKE '% idempotency_keys' OR to_regclass('pg_catalog.pg_dist_partition') IS NULL`;
