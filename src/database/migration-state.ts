import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type ClientBase, escapeIdentifier } from 'pg';
import { OperationalError, StoreError } from '../errors.ts';
import { isPrivilegeMissing } from './database-error.ts';
import { DENIED, DURABILITY, readFacts, SECURED, uses } from './inspect-database.ts';
import { assertSchemaUsable, storeSchema } from './store-schema.ts';

export const migrationsFolder = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

/** The migrations of this release, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

type AppliedMigration = { name: string };
type SessionState = { isReadOnly: boolean; weaknesses: string; secured: boolean; denied: string };

const FROM_BEGUN = 'FROM _prisma_migrations WHERE rolled_back_at IS NULL';
const SELECT_BEGUN = `SELECT migration_name AS name, finished_at IS NOT NULL AS "isFinished" ${FROM_BEGUN}`;

const missingFrom = (applied: AppliedMigration[]): string[] =>
  migrationNames.filter((name) => !applied.some((migration) => migration.name === name));

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
  const { rows } = isNew ? { rows: [] } : await client.query<AppliedMigration & { isFinished: boolean }>(SELECT_BEGUN);
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
    missing: missingFrom(ours.filter(({ isFinished }) => isFinished)),
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
  const { rows } = await client
    .query<AppliedMigration & SessionState>(
      `SELECT migration_name AS name, current_setting('transaction_read_only')::boolean AS "isReadOnly", ${DURABILITY}, ${SECURED}, ${DENIED}
       ${FROM_BEGUN} AND finished_at IS NOT NULL`,
    )
    .catch((error) => {
      throw isPrivilegeMissing(error) ? roleLacks('SELECT on _prisma_migrations') : error;
    });
  const missing = missingFrom(rows);
  if (missing.length > 0) {
    const cause = new Error(`Missing migrations: ${missing.join(', ')}`);
    throw new StoreError('databaseNotMigrated', undefined, { cause });
  }
  // A write, which changes nothing here, fails with the reason.
  if (rows.some(({ isReadOnly }) => isReadOnly)) await client.query('DELETE FROM plants WHERE FALSE');
  const { denied, secured, weaknesses = '' } = rows[0] ?? {};
  if (denied) throw roleLacks(denied);
  if (secured) await assertPolicies(client);
  return weaknesses;
};

const roleLacks = (privileges: string) =>
  new StoreError('databaseNotMigrated', `The role of the service lacks ${privileges}, or there is no such table.`);

/** Without a policy for a command, row-level security hides all rows from it: lists would be empty, and no plant deleted. */
const assertPolicies = async (client: ClientBase) => {
  const { rows } = await client.query<{ missing: string | null }>(
    `SELECT string_agg(use, ', ' ORDER BY use) AS missing
     FROM unnest($1::text[]) AS use, split_part(use, ' ', 1) AS command, to_regclass(split_part(use, ' ', 3)) AS secured
     WHERE row_security_active(secured) AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = secured AND polpermissive
       AND polcmd::text IN ('*', CASE command WHEN 'SELECT' THEN 'r' WHEN 'INSERT' THEN 'a' WHEN 'UPDATE' THEN 'w' ELSE 'd' END)
       AND EXISTS (SELECT FROM unnest(polroles) AS role WHERE role = 0 OR pg_has_role(role, 'USAGE')))`,
    [uses],
  );
  const message = `No policy of row-level security allows the service ${rows[0]?.missing}.`;
  if (rows[0]?.missing) throw new StoreError('databaseNotMigrated', message);
};
