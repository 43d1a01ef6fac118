import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm';
import * as engineBindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import { Client, Pool } from 'pg';
import { CONNECT_TIMEOUT } from './database.ts';
import { findMissingMigrations, mayMigrate } from './migration-rights.ts';

/** The part of https://webassembly.github.io/spec/js-api that is used; TypeScript has it only along with the DOM. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
};

const prismaFolder = join(import.meta.dirname, '..', '..', 'prisma');
const migrationsFolder = join(prismaFolder, 'migrations');

/** PostgreSQL's advisory lock of those who migrate. Any number will do, as long as it stays the same. */
const MIGRATION_LOCK = 7_230_113;
/** In ms. */
const LOCK_POLL_INTERVAL = 100;

/** The names of the migrations that this store was written for, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

/** The database is reached and cannot be migrated; `message` is Prisma's own, or says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError';
}

/**
 * Applies the migrations that are missing, as `prisma migrate deploy` does and with Prisma's own engine. Several
 * processes may do so at once: one works and the others wait for it. (The engine has a lock of its own, but gives up
 * waiting after 10 s, and keeps a timer for as long: a process that migrated exits rather than runs out.)
 * @returns the names of the migrations applied
 * @throws {MigrationError}
 */
export const migrate = async (url: string): Promise<string[]> => {
  const lock = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT });
  // A connection that breaks fails the query as well; without a listener the event would end the process.
  lock.on('error', () => {});
  // The engine's lock belongs to its connection, which a pool would keep.
  const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: CONNECT_TIMEOUT });
  try {
    await lock.connect();
    await takeLock(lock);
    const missing = await findMissingMigrations(lock, migrationNames);
    // To ask the engine would take 0.15 s and 15 MiB, at each `npm start`.
    if (missing.length === 0) return [];
    if (!(await mayMigrate(lock))) throw new MigrationError(mayNotMigrate(missing));
    return await applyMigrations(pool);
  } finally {
    await pool.end();
    await lock.end();
  }
};

/** Not by waiting in a statement, for which CREATE INDEX CONCURRENTLY in another's migration would wait in turn, for ever. */
const takeLock = async (client: Client) => {
  const isTaken = async () => {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      MIGRATION_LOCK,
    ]);
    return rows[0]?.taken;
  };
  while (!(await isTaken())) await setTimeout(LOCK_POLL_INTERVAL);
};

const mayNotMigrate = (missing: string[]) =>
  `The database lacks migrations (${missing.join(', ')}), and the role of DATABASE_URL may not apply them. ` +
  'With the role that owns the tables, run: plant-store migrate';

const applyMigrations = async (pool: Pool) => {
  const engine = await createSchemaEngine(pool);
  try {
    const filters = { externalTables: [], externalEnums: [] };
    return (await engine.applyMigrations({ migrationsList: readMigrations(), filters })).appliedMigrationNames;
  } catch (error) {
    throw new MigrationError((error as Error).message, { cause: error });
  } finally {
    engine.free();
  }
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
 * Prisma's schema engine as WebAssembly, loaded by hand: importing a .wasm file is experimental in Node.js. Once a
 * process, as the package keeps the instance in a variable of its module.
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

const createSchemaEngine = async (pool: Pool): Promise<SchemaEngine> => {
  engineLoaded ??= loadEngine();
  await engineLoaded;
  const schema = readFileSync(join(prismaFolder, 'schema.prisma'), 'utf8');
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool));
  return engineBindings.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapter);
};
