import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { say } from '../command.ts';
import { nameSql, tagSql } from './plant-sql.ts';

const SETTLE_INTERVAL_MS = 100;
const FILL_CHUNK_ROWS = 100_000;
const INSUFFICIENT_PRIVILEGE = '42501';

const PLANTS = `SELECT id, ${nameSql} AS name, ${tagSql} AS tag
  FROM (SELECT hashint8extended(n, $1) AS id FROM generate_series(1::bigint, $2::bigint) AS n) AS ids`;

/** With their storage parameters, without the primary key. */
const INDEXES = `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
  WHERE indrelid = 'plants'::regclass AND NOT indisprimary ORDER BY indexrelid`;

const CONTENTS = `SELECT count(*)::int AS rows,
  sum(octet_length(id::text) + octet_length(name) + octet_length(tag))::float8 AS bytes FROM plants`;

const SETTINGS = `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN ('server_version', 'fsync',
  'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size') ORDER BY name`;

/** All indexes of the store's migrations, or only the primary key, which every target needs. */
export type Indexes = 'all' | 'primary key';

/** The table of a migrated database, through a connection that only the benchmark uses. `stack` closes it. */
export const openPlantsTable = async (url: string, stack: AsyncDisposableStack) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  stack.defer(() => client.end());
  // Without a listener, a lost connection would end the process before cleanup. The next query rejects anyway.
  client.on('error', () => {});
  const query = async <Row>(text: string, values: unknown[] = []) => (await client.query(text, values)).rows as Row[];
  const readIndexes = () => query<{ name: string; definition: string }>(INDEXES);
  const storeIndexes = await readIndexes();
  let mayCheckpoint = true;

  /** Writes dirty pages to disk, so that no target pays for the one before it. */
  const checkpoint = async () => {
    if (!mayCheckpoint) return;
    await client.query('CHECKPOINT').catch((error: { code?: string }) => {
      if (error.code !== INSUFFICIENT_PRIVILEGE) throw error;
      mayCheckpoint = false;
      say('This PostgreSQL account may not run CHECKPOINT: measurements start in less equal conditions');
    });
  };

  /** Requests that the load generator cut off may still be running: waits until the count stops changing. */
  const count = async (): Promise<number> => {
    for (let last = -1; ; await delay(SETTLE_INTERVAL_MS)) {
      const [row] = await query<{ count: number }>('SELECT count(*)::int AS count FROM plants');
      if (row?.count === last) return last;
      last = row?.count ?? 0;
    }
  };

  /** Leaves an index that the migrations do not define, unless only the primary key is wanted. */
  const setIndexes = async (indexes: Indexes) => {
    const existing = await readIndexes();
    if (indexes === 'primary key') for (const { name } of existing) await query(`DROP INDEX ${name}`);
    else
      for (const { name, definition } of storeIndexes)
        if (!existing.some((index) => index.name === name)) await query(definition);
  };

  return {
    count,
    /** Truncates the table and runs a checkpoint. Without `indexes`, they stay as they are. */
    reset: async (indexes?: Indexes) => {
      await count();
      await query('TRUNCATE plants');
      if (indexes) await setIndexes(indexes);
      await checkpoint();
    },
    /** Adds plants with random-looking ids until there are `target` of them, then runs a checkpoint. */
    fillTo: async (target: number) => {
      for (let have = await count(); have < target; have = await count()) {
        const values = [have, Math.min(FILL_CHUNK_ROWS, target - have)];
        await query(`INSERT INTO plants (id, name, tag) ${PLANTS} ON CONFLICT DO NOTHING`, values);
      }
      await query('VACUUM ANALYZE plants');
      await checkpoint();
    },
    /** Names and tags as members of a JSON object, without the opening brace. */
    members: async (rows: number): Promise<string[]> => {
      const text = `SELECT format('"name":%s,"tag":%s}', to_json(name), to_json(tag)) AS members FROM (${PLANTS}) AS plants`;
      return (await query<{ members: string }>(text, [0, rows])).map(({ members }) => members);
    },
    /** Rows, and the bytes of their values as text. */
    contents: async () => (await query<{ rows: number; bytes: number }>(CONTENTS))[0] ?? { rows: 0, bytes: 0 },
    /** All ids in ascending order, as decimal digits. */
    ids: async () => (await query<{ id: string }>('SELECT id FROM plants ORDER BY id')).map(({ id }) => id),
    indexBytes: async (name: string) =>
      (await query<{ bytes: number }>('SELECT pg_relation_size($1::regclass)::float8 AS bytes', [name]))[0]?.bytes,
    /** The process of this connection, and how many transactions PostgreSQL has aborted to resolve a deadlock. */
    serverState: async () => {
      const [row] = await query<{ backend: number; deadlocks: number }>(`SELECT pg_backend_pid() AS backend,
        deadlocks::int FROM pg_stat_database WHERE datname = current_database()`);
      return row ?? { backend: 0, deadlocks: Number.NaN };
    },
    settings: async () =>
      (await query<{ name: string; value: string }>(SETTINGS)).map(({ name, value }) => `${name} ${value}`).join(', '),
  };
};

export type PlantsTable = Awaited<ReturnType<typeof openPlantsTable>>;
