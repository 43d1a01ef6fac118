import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { plantSql } from '../plants/plant-names.ts';
import { say } from '../reports/progress.ts';
import type { Indexes } from '../reports/results.ts';

const SETTLE_INTERVAL_MS = 100;
const FILL_CHUNK_ROWS = 100_000;
const INSUFFICIENT_PRIVILEGE = '42501';

const { name, tag } = plantSql('id');
const FILL = `INSERT INTO plants (id, name, tag)
  SELECT id, ${name}, ${tag} FROM (SELECT hashint8extended(n, $1) AS id FROM generate_series(1::bigint, $2::bigint) AS n)
  ON CONFLICT DO NOTHING`;

/** With their storage parameters, without the primary key. */
const INDEXES = `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
  WHERE indrelid = 'plants'::regclass AND NOT indisprimary ORDER BY indexrelid`;

const CONTENTS = `SELECT count(*)::int AS rows,
  sum(octet_length(id::text) + octet_length(name) + octet_length(tag))::float8 AS bytes FROM plants`;

type Index = { name: string; definition: string };

const SETTINGS = `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name IN ('server_version', 'fsync',
  'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'max_connections') ORDER BY name`;

/**
 * The table that every target writes to, through a connection that only the benchmark uses. Creates it without the
 * store's indexes if the store could not.
 */
export const openPlantsTable = async (url: string) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Without a listener, a lost connection would end the process before cleanup. The next query rejects anyway.
  client.on('error', () => {});
  await client.query('CREATE TABLE IF NOT EXISTS plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
  const readIndexes = async (): Promise<Index[]> => (await client.query(INDEXES)).rows;
  const storeIndexes = await readIndexes();
  let mayCheckpoint = true;

  const count = async (): Promise<number> => {
    const { rows } = await client.query('SELECT count(*)::int AS count FROM plants');
    return rows[0].count;
  };

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
  const settledCount = async (): Promise<number> => {
    for (let last = -1; ; ) {
      const now = await count();
      if (now === last) return now;
      last = now;
      await delay(SETTLE_INTERVAL_MS);
    }
  };

  /** Leaves the table with these indexes and without rows. */
  const truncate = async (indexes: Indexes = 'all') => {
    await settledCount();
    await client.query('TRUNCATE plants');
    const wanted = indexes === 'all' ? storeIndexes : [];
    const existing = await readIndexes();
    const isIn = (list: Index[], { name }: Index) => list.some((index) => index.name === name);
    for (const index of existing) if (!isIn(wanted, index)) await client.query(`DROP INDEX ${index.name}`);
    for (const index of wanted) if (!isIn(existing, index)) await client.query(index.definition);
  };

  return {
    settledCount,
    truncate,
    /** Truncates the table and runs a checkpoint. */
    reset: async (indexes?: Indexes) => {
      await truncate(indexes);
      await checkpoint();
    },
    /** Adds rows with random-looking ids until there are `target` of them, then runs a checkpoint. */
    fillTo: async (target: number, signal: AbortSignal) => {
      for (let have = await settledCount(); have < target; have = await count()) {
        signal.throwIfAborted();
        await client.query(FILL, [have, Math.min(FILL_CHUNK_ROWS, target - have)]);
      }
      await client.query('VACUUM ANALYZE plants');
      await checkpoint();
    },
    /** Merges new names into the search index, as the store does in the background. */
    mergeNames: () => client.query('SELECT merge_pending_names()'),
    /** Bytes written to the write-ahead log so far. */
    walPosition: async (): Promise<number> => {
      const { rows } = await client.query("SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes");
      return rows[0].bytes;
    },
    /** Rows, and the bytes of their values as text. */
    contents: async (): Promise<{ rows: number; bytes: number }> => {
      const { rows } = await client.query(CONTENTS);
      return rows[0];
    },
    /** All ids in ascending order, as decimal digits. */
    ids: async (): Promise<string[]> => {
      const { rows } = await client.query('SELECT id FROM plants ORDER BY id');
      return rows.map(({ id }) => id);
    },
    settings: async (): Promise<Record<string, string>> => {
      const { rows } = await client.query(SETTINGS);
      return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    },
    close: () => client.end(),
  };
};

export type PlantsTable = Awaited<ReturnType<typeof openPlantsTable>>;
