import { expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { createSlot, readSlot } from '../../src/changes/slot.ts';
import { createTcpProxy } from '../faults/tcp-proxy.ts';
import { retryConnecting } from '../support/test-service.ts';
import { SLOT, useSlot } from '../support/use-slot.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. */
const TIME_LIMIT = 500;
/** The sessions that have waited for a new slot for more than so many ms. */
const waitingFor = (time: number) => `SELECT FROM pg_stat_activity
  WHERE state = 'active' AND query LIKE 'SELECT pg_create_logical%' AND clock_timestamp() > query_start + interval '${time} ms'`;
/** Rows of 1 kB: more than arrive at once. */
const ROWS = 500;

const { server, query, create, drop, slotIsFree, follow, readLines } = useSlot();

const kinds = 'each kind of change has its line, once, and the next reader goes on behind it';
test.each(['DEFAULT', 'FULL'])(`${kinds}: REPLICA IDENTITY %s`, async (identity) => {
  await query(`ALTER TABLE plants REPLICA IDENTITY ${identity}`);
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  await query("UPDATE plants SET name = 'Oak', tag = '' WHERE id = 1");
  await query('UPDATE plants SET id = 2 WHERE id = 1');
  expect(await readLines(4)).toEqual([
    { change: 'created', id: 1, name: 'Fir', tag: null },
    { change: 'updated', id: 1, name: 'Oak', tag: '' },
    { change: 'deleted', id: 1 },
    { change: 'created', id: 2, name: 'Oak', tag: '' },
  ]);
  await query('DELETE FROM plants WHERE id = 2');
  await query('TRUNCATE plants');
  expect(await readLines(2)).toEqual([{ change: 'deleted', id: 2 }, { change: 'emptied' }]);
  await query('ALTER TABLE plants REPLICA IDENTITY DEFAULT');
});

test('what is written when a reader is ended is confirmed, and does not come again', async () => {
  const { promise: written, resolve } = Promise.withResolvers<void>();
  const reader = follow(async () => void setImmediate(resolve));
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  await written;
  // The commit may arrive behind the change.
  const isSent = 'SELECT FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_lsn()';
  await waitUntil('the commit', async () => (await query(isSent)).length > 0);
  await reader.end();
  await query("INSERT INTO plants VALUES (2, 'Oak', NULL)");
  expect(await readLines(1)).toMatchObject([{ id: 2 }]);
});

test('what is not written yet is not confirmed, and comes again', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  let writes = 0;
  const { read, end } = follow(() => {
    writes += 1;
    return never;
  });
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  await waitUntil('a write', () => writes > 0);
  const before = read.confirmations;
  await waitUntil('a confirmation', () => read.confirmations > before);
  await end();
  expect(await readLines(1)).toMatchObject([{ change: 'created', id: 1 }]);
});

test('what the disk may not have yet is not confirmed, and comes again', async () => {
  const { ended } = follow(undefined, () => Promise.reject(new Error('no space')));
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  await expect(ended).rejects.toThrow('no space');
  await slotIsFree();
  await query("INSERT INTO plants VALUES (2, 'Oak', NULL)");
  expect((await readLines(1))[0]).toMatchObject({ change: 'created', id: 1 });
});

test('nothing is confirmed within a transaction, so that it comes again as a whole', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  let writes = 0;
  // The first lines are written, those behind them never.
  const { end } = follow(async () => {
    writes += 1;
    if (writes > 1) await never;
  });
  await query(`INSERT INTO plants SELECT i, repeat('x', 1000), NULL FROM generate_series(1, ${ROWS}) AS i`);
  await waitUntil('two writes', () => writes > 1);
  await end();
  expect((await readLines(ROWS)).map(({ id }) => id)).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1));
});

test('what other tables write is confirmed, so that PostgreSQL need not keep it', async () => {
  const { end } = follow();
  await query('CREATE TABLE other AS SELECT generate_series(1, 1000)');
  const [{ written } = {}] = await query('SELECT pg_current_wal_lsn() AS written');
  const isBehind = `SELECT FROM pg_replication_slots WHERE confirmed_flush_lsn < '${written}'`;
  await waitUntil('the confirmation', async () => (await query(isBehind)).length === 0);
  await end();
  await query('DROP TABLE other');
});

test('a slot is created once, and cannot be followed if nothing publishes the plants', async () => {
  expect(await create()).toBe(false);
  await query('DROP PUBLICATION plant_store');
  for (const attempt of [() => follow().end(), create])
    await expect(attempt()).rejects.toThrow(/^The publication plant_store lacks changes of plants\./);
  await drop();
  await expect(drop()).rejects.toThrow(`There is no slot ${SLOT}.`);
  await expect(follow().end()).rejects.toThrow(`There is no slot ${SLOT}.`);
  expect(await create()).toBe(true);
});

const REPLACED = /^The publication plant_store lacks changes of plants\./;

test('a reader ends, since it may have missed changes, if the publication lacked the table for a while', async () => {
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  const { read, ended } = follow();
  await waitUntil('the first line', () => read.lines.length > 0);
  await query('ALTER PUBLICATION plant_store DROP TABLE plants');
  await query('ALTER PUBLICATION plant_store ADD TABLE plants');
  await expect(ended).rejects.toThrow(REPLACED);
  await slotIsFree();
});

test.each(['USING INDEX plants_pkey', 'NOTHING'])(
  'a table without ids in what is logged is neither published nor followed: REPLICA IDENTITY %s',
  async (identity) => {
    await query('DROP PUBLICATION plant_store');
    await query(`ALTER TABLE plants REPLICA IDENTITY ${identity}`);
    for (const attempt of [create, () => follow().end()])
      await expect(attempt()).rejects.toThrow('Set their REPLICA IDENTITY to DEFAULT');
    expect(await query('SELECT FROM pg_publication')).toEqual([]);
    await query('ALTER TABLE plants REPLICA IDENTITY DEFAULT');
    await drop();
    await create();
  },
);

test('a reader notices that the publication is gone or another one, or that the table is', async () => {
  const { url } = server.postgres;
  const before = await readSlot(url, SLOT);
  await expect(readSlot(url, SLOT, before)).resolves.toEqual(before);
  await query('DROP PUBLICATION plant_store');
  await expect(readSlot(url, SLOT, before)).rejects.toThrow(REPLACED);
  await query('CREATE PUBLICATION plant_store FOR TABLE plants');
  await expect(readSlot(url, SLOT, before)).rejects.toThrow(REPLACED);
  const again = await readSlot(url, SLOT);
  await query('ALTER TABLE plants RENAME TO old; CREATE TABLE plants (LIKE old INCLUDING ALL)');
  await query('ALTER PUBLICATION plant_store ADD TABLE plants');
  await expect(readSlot(url, SLOT, again)).rejects.toThrow(REPLACED);
  await query('DROP TABLE plants');
  const gone = readSlot(url, SLOT, again).finally(drop);
  await expect(gone.finally(() => query('ALTER TABLE old RENAME TO plants'))).rejects.toThrow(REPLACED);
  await create();
});

test.each([
  ['statement_timeout', TIME_LIMIT],
  ['transaction_timeout', TIME_LIMIT],
  // Other statements wait 3 s for a lock.
  ['lock_timeout', 3500],
])('a slot waits for the transactions that run, whatever %s the role has', async (limit, time) => {
  await drop();
  const url = `${server.postgres.url}?options=-c%20${limit}=${TIME_LIMIT}`;
  const other = new Client({ connectionString: server.postgres.url });
  await other.connect();
  try {
    await other.query('BEGIN; CREATE TABLE other ()');
    let hasEnded = false;
    const creating = retryConnecting(() => createSlot(url, SLOT)).finally(() => {
      hasEnded = true;
    });
    await waitUntil('more than that time', async () => hasEnded || (await query(waitingFor(time))).length > 0);
    await other.query('ROLLBACK');
    expect(await creating).toBe(true);
  } finally {
    await other.end();
  }
});

test('a slot is not created any more once its command was killed, although it still waits', async () => {
  await drop();
  const proxy = await createTcpProxy(Number(new URL(server.postgres.url).port));
  const other = new Client({ connectionString: server.postgres.url });
  await other.connect();
  try {
    await other.query('BEGIN; CREATE TABLE other ()');
    const creating = createSlot(proxy.through(server.postgres.url), SLOT).catch(() => {});
    await waitUntil('the wait', async () => (await query(waitingFor(0))).length > 0);
    proxy.close();
    await creating;
    await waitUntil('its end', async () => (await query(waitingFor(0))).length === 0);
  } finally {
    await other.end();
  }
  expect(await create()).toBe(true);
});

test('a signal that comes before the stream has begun ends it', async () => {
  const { read, end } = follow();
  await end();
  expect(read.lines).toEqual([]);
});

/** Makes intervals so many times as short. */
const hurry = (factor: number) => {
  const start = setInterval;
  const timers = jest.spyOn(globalThis, 'setInterval');
  timers.mockImplementation(((run: () => void, time: number) =>
    start(run, time / factor)) as unknown as typeof setInterval);
  return timers;
};

test('a reader goes on if a check fails for now, such as while the table is locked', async () => {
  const timers = hurry(10);
  const client = new Client({ connectionString: server.postgres.url });
  await client.connect();
  const { read, ended, end } = follow();
  try {
    await waitUntil('the stream', () => read.confirmations > 0);
    await client.query('BEGIN; LOCK TABLE plants');
    const checks = async () => query("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
    await waitUntil('a check', async () => (await checks()).length > 0);
    const [first] = await checks();
    const hasFailed = async () => (await checks()).every(({ pid }) => pid !== first?.pid);
    await Promise.race([waitUntil('its failure', hasFailed), ended]);
    await client.query("COMMIT; INSERT INTO plants VALUES (1, 'Fir')");
    await Promise.race([waitUntil('the line', () => read.lines.length > 0), ended]);
  } finally {
    timers.mockRestore();
    await client.end();
    await end();
  }
});

test('a reader ends if PostgreSQL does not respond any more, although the connection stays open', async () => {
  // A second takes 20 ms.
  const timers = hurry(50);
  const proxy = await createTcpProxy(Number(new URL(server.postgres.url).port));
  try {
    const { read, ended } = follow(undefined, undefined, proxy.through(server.postgres.url));
    await waitUntil('more confirmations than may be unanswered', () => read.confirmations > 150);
    proxy.stall();
    await expect(ended).rejects.toThrow(/^PostgreSQL does not respond any more\. Start the command again/);
  } finally {
    timers.mockRestore();
    proxy.close();
  }
  await slotIsFree();
});

test('a publication of all tables serves as well', async () => {
  await query('DROP PUBLICATION plant_store');
  await query('CREATE PUBLICATION plant_store FOR ALL TABLES');
  await drop();
  expect(await create()).toBe(true);
  await query("INSERT INTO plants VALUES (1, 'Fir', NULL)");
  await query('TRUNCATE plants, idempotency_keys');
  expect(await readLines(2)).toEqual([{ change: 'created', id: 1, name: 'Fir', tag: null }, { change: 'emptied' }]);
  await query('DROP PUBLICATION plant_store');
});

test('a check does not wait for a table that is locked for long, so that checks do not pile up', async () => {
  const client = new Client({ connectionString: server.postgres.url });
  await client.connect();
  try {
    await client.query('BEGIN; LOCK TABLE plants');
    await expect(readSlot(server.postgres.url, SLOT)).rejects.toMatchObject({ code: '55P03' });
  } finally {
    await client.end();
  }
});

test('a publication may have tables that the role may not see', async () => {
  const { url } = server.postgres;
  await query(`CREATE ROLE follower LOGIN REPLICATION PASSWORD '${new URL(url).password}'`);
  await query(
    'CREATE SCHEMA hidden; CREATE TABLE hidden.plants (); ALTER PUBLICATION plant_store ADD TABLE hidden.plants',
  );
  const follower = Object.assign(new URL(url), { username: 'follower' });
  expect(await readSlot(follower.href, SLOT)).toEqual(await readSlot(url, SLOT));
  await query('DROP SCHEMA hidden CASCADE; DROP ROLE follower');
});

test.each([
  "FOR TABLE plants WITH (publish = 'insert, update, delete')",
  'FOR TABLE plants WHERE (id > 0)',
  'FOR TABLE plants (id, name)',
])('a publication that leaves something out is refused: %s', async (publication) => {
  await query('DROP PUBLICATION plant_store');
  await query(`CREATE PUBLICATION plant_store ${publication}`);
  await expect(follow().end()).rejects.toThrow(/^The publication plant_store lacks changes of plants\./);
  await drop();
  await expect(create()).rejects.toThrow(/^The publication plant_store lacks changes of plants\./);
  await query('DROP PUBLICATION plant_store');
  expect(await create()).toBe(true);
});
