import { hash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { deleteSome } from '../../src/database/sweep.ts';
import { expiredResponses } from '../../src/idempotency/stored-responses.ts';
import { createPlantRepository } from '../../src/plants/plant-repository.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. */
const MINUTE = 60_000;
/** How long keys are kept, in minutes. */
const RETENTION = 10;
const BATCH = 64;
const BATCHES_PER_MINUTE = 4;
const KEYS_PER_MINUTE = BATCH * BATCHES_PER_MINUTE;

const database = useTestDatabase({ each: true });

/** What a store has, with one connection. */
const connect = () => {
  const pool = createPool({ url: database.url, connections: 1, connectTimeout: 5000, statementTimeout: 30_000 });
  let statements = 0;
  const traceStatement = <Result>(_sql: string, send: () => Promise<Result>) => {
    statements += 1;
    return send();
  };
  const prisma = createDatabase({ pool, traceStatement, onConnectionLost: () => {} });
  const { insert } = createPlantRepository({ database: prisma, retention: RETENTION * MINUTE });
  const deleteExpired = () => deleteSome(prisma, expiredResponses);
  return {
    /** Stores plants, each with a key. */
    create: (firstId: number) =>
      insert(
        Array.from({ length: BATCH }, (_, index) => {
          const id = firstId + index;
          const keyed = { key: hash('sha256', `${id}`), fingerprint: hash('sha256', ''), onReplay: () => {} };
          return { id: BigInt(id), name: 'Fir', keyed };
        }),
      ),
    statements: () => statements,
    deleteExpired,
    deleteAllExpired: async () => {
      while (await deleteExpired());
    },
    /** PostgreSQL counts dead rows a second late otherwise. */
    flushCounts: () => prisma.$queryRaw`SELECT pg_stat_force_next_flush()::text`,
    close: () => prisma.$disconnect(),
  };
};

let stores: ReturnType<typeof connect>[];
beforeEach(async () => {
  // `now()` is then a time that the test sets, because `pg_catalog` need not be the first schema.
  await database.query(`
    CREATE SCHEMA clock;
    CREATE TABLE clock.time AS SELECT date_trunc('second', now()) AS time;
    CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT time FROM clock.time';
    ALTER DATABASE ${database.name} SET search_path = clock, public, pg_catalog`);
  stores = [connect(), connect()];
});
afterEach(async () => {
  for (const store of stores) await store.close();
});

const addMinutes = (count: number) => database.query(`UPDATE clock.time SET time = time + interval '${count} minutes'`);

const countKeys = async () => {
  const [row] = await database.query('SELECT count(*)::int AS count FROM idempotency_keys');
  return row?.count;
};

type State = { live: number; dead: number; kB: number; isDue: boolean };

/** `isDue`: whether autovacuum would vacuum the table when it looks next. */
const readState = async (): Promise<State> => {
  for (const { flushCounts } of stores) await flushCounts();
  const [state] = await database.query(`
    SELECT n_live_tup::int AS live, n_dead_tup::int AS dead, pg_total_relation_size(relid)::int / 1024 AS "kB",
      n_dead_tup > current_setting('autovacuum_vacuum_threshold')::int + reltuples * coalesce(
        (SELECT option_value FROM pg_options_to_table(reloptions) WHERE option_name = 'autovacuum_vacuum_scale_factor'),
        current_setting('autovacuum_vacuum_scale_factor'))::float AS "isDue"
    FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
    WHERE pg_class.relname = 'idempotency_keys'`);
  return state as State;
};

/** VACUUM keeps deleted rows while another transaction, such as autovacuum's ANALYZE, may still see them. */
const waitForOtherTransactions = () =>
  waitUntil('no other transaction', async () => {
    const others = await database.query(`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()`);
    return others.length === 0;
  });

test('an hour of keys on two stores: both delete the expired ones, and the table stops growing', async () => {
  const minutes: State[] = [];
  for (let minute = 0; minute < 60; minute++) {
    await Promise.all(
      stores.map(async ({ create, deleteAllExpired }, index) => {
        for (let batch = index; batch < BATCHES_PER_MINUTE; batch += stores.length)
          expect(await create(minute * KEYS_PER_MINUTE + batch * BATCH)).toEqual(Array(BATCH).fill(undefined));
        await deleteAllExpired();
      }),
    );
    expect(await countKeys()).toBe(Math.min(minute + 1, RETENTION) * KEYS_PER_MINUTE);
    const state = await readState();
    minutes.push(state);
    // Autovacuum looks once a minute.
    if (state.isDue) {
      await waitForOtherTransactions();
      await database.query('VACUUM ANALYZE idempotency_keys');
    }
    await addMinutes(1);
  }
  const figures = (['live', 'dead', 'kB'] as const).map((key) => ({
    key,
    most: [0, 10, 20, 30, 40, 50].map((from) => Math.max(...minutes.slice(from, from + 10).map((state) => state[key]))),
  }));
  const lines = figures.map(({ key, most }) => `${key.padEnd(5)}${most.join('  ')}\n`);
  process.stderr.write(`\nThe table of keys, at most in each ten minutes:\n${lines.join('')}`);
  const [, dead = [], kB = []] = figures.map(({ most }) => most);
  // The default of autovacuum would leave three times as many.
  expect(Math.max(...dead)).toBeLessThanOrEqual(2 * KEYS_PER_MINUTE);
  expect(kB[5]).toBeLessThan(1.2 * (kB[1] as number));
});

test('expired keys that are used again take a few statements, however many there are', async () => {
  const [store] = stores as [ReturnType<typeof connect>];
  await store.create(0);
  await addMinutes(RETENTION);
  await database.query('DELETE FROM plants');
  const before = store.statements();
  expect(await store.create(0)).toEqual(Array(BATCH).fill(undefined));
  // One that finds them, one that deletes them, and the first one again.
  expect(store.statements() - before).toBe(3);
});

testUnless(
  onCitus('it has no such constraint'),
  'a name that an operator wants to be unique is not mistaken for a key that is taken: no statement is sent twice',
  async () => {
    const [store] = stores as [ReturnType<typeof connect>];
    await database.query('ALTER TABLE plants ADD UNIQUE (name)');
    const [first, ...others] = await store.create(0);
    expect([first, new Set(others.map((error) => error instanceof Error))]).toEqual([undefined, new Set([true])]);
    // The batch, then its halves, down to single plants.
    expect(store.statements()).toBe(2 * BATCH - 1);
    expect(await countKeys()).toBe(1);
  },
);

test('expired keys that another store is deleting are left to it', async () => {
  const [store] = stores as [ReturnType<typeof connect>];
  for (let batch = 0; batch < 20; batch++) await store.create(batch * BATCH);
  await addMinutes(RETENTION);
  await store.create(20 * BATCH);
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT FROM idempotency_keys WHERE expires_at <= now() LIMIT 1000 FOR UPDATE');
    expect(await store.deleteExpired()).toBe(false);
    expect(await countKeys()).toBe(1000 + BATCH);
  } finally {
    await other.end();
  }
  // At most a thousand at once.
  expect([await store.deleteExpired(), await store.deleteExpired()]).toEqual([true, false]);
  expect(await countKeys()).toBe(BATCH);
});
