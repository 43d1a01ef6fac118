// What Prisma's command line finds, which loads this engine from the internet, but compiled for the system.
// node prisma-engine.ts URL diff: prints the SQL that would make a database as prisma/schema.prisma describes it, as
// `prisma migrate diff --from-url URL --to-schema prisma/schema.prisma --script` does.
// node prisma-engine.ts URL status: prints as JSON how the migrations differ from those of the database, as `prisma migrate status` does.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { migrationNames, migrationsFolder } from '../../src/database/migration-state.ts';

/** PostgreSQL's internal type "char", which the driver adapter rejects and the engine requires for these columns. */
const INTERNAL_CHAR = 18;
const CHAR_COLUMNS = ['constraint_type', 'confdeltype', 'confupdtype'];

// @ts-expect-error pg does not declare this method.
const { handleRowDescription } = pg.Query.prototype;
Object.assign(pg.Query.prototype, {
  handleRowDescription(message: { fields: { dataTypeID: number }[] }) {
    for (const field of message.fields)
      if (field.dataTypeID === INTERNAL_CHAR) field.dataTypeID = pg.types.builtins.TEXT;
    return handleRowDescription.call(this, message);
  },
});

const factory = new PrismaPg({ connectionString: process.argv[2] });
const connect = factory.connect.bind(factory);
factory.connect = async () => {
  const adapter = await connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query);
    const columnTypes = result.columnTypes.map((type, index) =>
      CHAR_COLUMNS.includes(result.columnNames[index] ?? '') ? ColumnTypeEnum.Character : type,
    );
    return { ...result, columnTypes };
  };
  return adapter;
};

const wasm = createRequire(import.meta.url)
  .resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  .replace(/js$/, 'wasm');
// @ts-expect-error TypeScript declares WebAssembly only in its DOM library.
const { instance } = await WebAssembly.instantiate(readFileSync(wasm), { './schema_engine_bg.js': bindings });
bindings.__wbg_set_wasm(instance.exports);
instance.exports.__wbindgen_start();
const schema = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
const files = [{ path: 'schema.prisma', content: schema }];
const engine = await bindings.SchemaEngine.new(
  { datamodels: [['schema.prisma', schema]] },
  () => {},
  bindMigrationAwareSqlAdapterFactory(factory),
);
const filters = { externalTables: [], externalEnums: [] };

const diff = async () => {
  const from = { tag: 'schemaDatasource', files, configDir: '.' } as const;
  const to = { tag: 'schemaDatamodel', files } as const;
  return (await engine.diff({ from, to, filters, script: true, exitCode: null })).stdout ?? '';
};

const read = (...path: string[]) => readFileSync(join(migrationsFolder, ...path), 'utf8');
const migrationsList = {
  baseDir: migrationsFolder,
  lockfile: { path: 'migration_lock.toml', content: read('migration_lock.toml') },
  shadowDbInitScript: '',
  migrationDirectories: migrationNames.map((path) => ({
    path,
    migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: read(path, 'migration.sql') } as const },
  })),
};

const status = async () =>
  JSON.stringify(await engine.diagnoseMigrationHistory({ migrationsList, filters, optInToShadowDatabase: false }));

process.stdout.write(await (process.argv[3] === 'diff' ? diff() : status()));
process.exit(0);
