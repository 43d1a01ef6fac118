import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm';
import * as engineBindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import { type Client, escapeIdentifier, Pool } from 'pg';
import { OperationalError } from '../errors.ts';
import { COMMAND_CONNECT_TIMEOUT, endWithClient, keepAlive, NO_TIME_LIMITS, withClient } from './database.ts';
import { isLockTimeout } from './database-error.ts';
import { assertSession, sessionUrl } from './database-url.ts';
import { TABLES } from './inspect-database.ts';
import { migrationNames, migrationsFolder, readMigrationState } from './migration-state.ts';
import { createNamedSchema } from './store-schema.ts';

/** The part of https://webassembly.github.io/spec/js-api that is used here. TypeScript declares it only in its DOM library. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
};

/** The number of the advisory lock that processes take to migrate. All releases must use the same one. */
const MIGRATION_LOCK = 7_230_113;
/** In ms. */
const LOCK_POLL_INTERVAL = 100;
/** How long a statement of a migration waits for locks, since others wait behind it, and the pause before the next attempt. In ms. */
const LOCK_TIMEOUT = 2000;
const PAUSE = 1000;

/** Called once if a migration has to wait for other transactions, and once if for another migration. */
type OnWait = (message: string) => void;

/**
 * Applies pending migrations with Prisma's engine, as `prisma migrate deploy` does. Several processes may call this at
 * once: one migrates, the others wait. (The engine's own lock times out after 10 s.)
 * @returns the names of the migrations applied
 * @throws {OperationalError}
 */
export const migrate = async (url: string, onWait: OnWait = () => {}): Promise<string[]> => {
  assertSession(url, 'Migrating');
  return withClient(url, async (client) => {
    // If its session ended, another process could migrate at the same time.
    await client.query(NO_TIME_LIMITS);
    await takeLock(client, onWait);
    await createNamedSchema(client, url);
    const { schema, missing, mayMigrate } = await readMigrationState(client, url);
    // Loading the engine takes 0.15 s and 15 MiB.
    if (missing.length === 0) return [];
    if (mayMigrate) return applyMigrations(url, schema, onWait);
    throw new OperationalError(
      `The database lacks migrations (${missing.join(', ')}), and the role in DATABASE_URL may not apply them. ` +
        'As the role that owns the tables, run: plant-store migrate',
    );
  });
};

/** Polls. CREATE INDEX CONCURRENTLY in the other process would wait for a blocked pg_advisory_lock() to end: a deadlock. */
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

const NAMES_TAKEN = 'Another program has tables of the same names in it. Use another schema: ?schema= in the URL.';
const REMEDY =
  'Fix the cause and undo what it did. Then run DELETE FROM _prisma_migrations WHERE finished_at IS NULL (docs/how-to/migrate-and-upgrade.md).';

const applyMigrations = async (url: string, schema: string, onWait: OnWait) => {
  // The engine cannot read the times of other date styles, and writes times without their offset. No limit of the role may end a
  // migration.
  const settings = { DateStyle: 'ISO', TimeZone: 'UTC', statement_timeout: '0' };
  const connectionString = sessionUrl(url, { ...settings, search_path: escapeIdentifier(schema) });
  const timeouts = { connectionTimeoutMillis: COMMAND_CONNECT_TIMEOUT, lock_timeout: LOCK_TIMEOUT };
  const pool = retryWhileLocked(new Pool({ connectionString, max: 1, ...timeouts, ...keepAlive }), onWait);
  // The engine holds its lock until its connection closes.
  await using _connection = { [Symbol.asyncDispose]: () => pool.end() };
  await endWithClient(pool);
  await pool.query(NO_TIME_LIMITS);
  // The engine refuses to start in a schema with tables that it does not know.
  const { rows } = await pool.query<{ tablename: string }>(
    'SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> ALL($2)',
    [schema, TABLES],
  );
  const filters = { externalTables: rows.map(({ tablename }) => `${schema}.${tablename}`), externalEnums: [] };
  const engine = await createSchemaEngine(pool, schema);
  try {
    return (await engine.applyMigrations({ migrationsList: readMigrations(), filters })).appliedMigrationNames;
  } catch (error) {
    throw new OperationalError(explain((error as Error).message), { cause: error });
  } finally {
    engine.free();
  }
};

/** The engine's message, without where in its sources it failed. */
const explain = (text: string): string => {
  const [, prefix, reason = '', trace = ''] = /^(external connector error\n.*?: )?(.*?)(\n +0: .*)?$/s.exec(text) ?? [];
  const message = reason.replace(/Read more .*baseline.*/, NAMES_TAKEN).replace(/Read more .*/, REMEDY);
  return trace ? `${message}.${prefix ? ` ${REMEDY}` : ''}` : message;
};

/** Makes a pool send a statement again, with pauses, while it waits too long for a lock. */
const retryWhileLocked = (pool: Pool, onWait: OnWait): Pool => {
  let isWaiting = false;
  const send = pool.query.bind(pool) as (...parameters: unknown[]) => Promise<unknown>;
  const query = async (...parameters: unknown[]): Promise<unknown> => {
    try {
      return await send(...parameters);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    if (!isWaiting)
      onWait('The migration waits for other transactions on the tables of the store. It goes on once they end.');
    isWaiting = true;
    await setTimeout(PAUSE);
    return query(...parameters);
  };
  return Object.assign(pool, { query });
};

const readMigrations = (): MigrationList => ({
  baseDir: migrationsFolder,
  lockfile: {
    path: 'migration_lock.toml',
    content: readFileSync(join(migrationsFolder, 'migration_lock.toml'), 'utf8'),
  },
  shadowDbInitScript: '',
  migrationDirectories: migrationNames.map((name) => ({
    path: name,
    migrationFile: {
      path: 'migration.sql',
      content: { tag: 'ok', value: readFileSync(join(migrationsFolder, name, 'migration.sql'), 'utf8') },
    },
  })),
});

/**
 * Loads Prisma's schema engine, because importing a .wasm file is experimental in Node.js. Once per process: the package
 * keeps the instance in a module variable.
 */
const loadEngine = async () => {
  const bindings = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const { instance } = await WebAssembly.instantiate(readFileSync(bindings.replace(/\.js$/, '.wasm')), {
    './schema_engine_bg.js': engineBindings,
  });
  engineBindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
};

let engineLoaded: Promise<void> | undefined;

const createSchemaEngine = async (pool: Pool, schema: string): Promise<SchemaEngine> => {
  engineLoaded ??= loadEngine();
  await engineLoaded;
  const datamodel = readFileSync(join(migrationsFolder, '..', 'schema.prisma'), 'utf8');
  // Migrations name no schema and follow the search path, but the engine looks for its own table in this one.
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool, { schema }));
  return engineBindings.SchemaEngine.new({ datamodels: [['schema.prisma', datamodel]] }, () => {}, adapter);
};
