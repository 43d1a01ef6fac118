import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { migrate } from '../../src/database/migrate.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase({ migrated: false, each: true });
const BLOCKED = `SELECT query_start::text AS at FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%CREATE TABLE "tokens"%'`;

test('a migration that waits for another one says so once', async () => {
  const other = new Client({ connectionString: database.url });
  await other.connect();
  const said: string[] = [];
  await other.query('SELECT pg_advisory_lock(7230113)');
  const migrating = migrate(database.url, (message) => said.push(message));
  await waitUntil('the message', () => said.length > 0).finally(() => other.end());
  await migrating;
  expect(said).toEqual(['Another process migrates the database; waiting for it.']);
});

test('a migration tries again until no other transaction is in its way, and says once that it waits', async () => {
  const url = new URL(database.url);
  // A shorter time than that of migrations. It comes from the URL, as any setting of the driver may.
  url.searchParams.set('lock_timeout', '100');
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query('BEGIN; CREATE TABLE tokens ()');
    const said: string[] = [];
    let hasEnded = false;
    const migrating = migrate(url.href, (message) => said.push(message)).finally(() => {
      hasEnded = true;
    });
    const attempts = new Set<unknown>();
    await waitUntil('three attempts', async () => {
      for (const { at } of await database.query(BLOCKED)) attempts.add(at);
      return hasEnded || attempts.size >= 3;
    });
    await other.query('ROLLBACK');
    expect(await migrating).not.toEqual([]);
    expect(said).toEqual([expect.stringMatching(/^The migration waits for other transactions/)]);
  } finally {
    await other.end();
  }
});

test('two migrations at once do not disturb each other, even if the role ends idle sessions', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c idle_session_timeout=500');
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query('BEGIN; CREATE TABLE tokens ()');
    const first = migrate(url.href);
    await waitUntil('the first to wait', async () => (await database.query(BLOCKED)).length > 0);
    const waiting = Promise.withResolvers<string>();
    const second = migrate(url.href, waiting.resolve);
    await Promise.race([waiting.promise, second]);
    await other.query('ROLLBACK');
    expect(await first).not.toEqual([]);
    expect(await second).toEqual([]);
    expect(await waiting.promise).toBe('Another process migrates the database; waiting for it.');
  } finally {
    await other.end();
  }
});

test('a migration tries again after a deadlock', async () => {
  // What a sequence counts is not undone with the transaction.
  await database.query(`
    CREATE SEQUENCE attempts;
    CREATE FUNCTION refuse_once() RETURNS event_trigger LANGUAGE plpgsql AS
      'BEGIN IF nextval(''attempts'') = 1 THEN RAISE deadlock_detected; END IF; END';
    CREATE EVENT TRIGGER refuse_once ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION refuse_once()`);
  const said: string[] = [];
  expect(await migrate(database.url, (message) => said.push(message))).not.toEqual([]);
  expect(said).toEqual([expect.stringMatching(/^The migration waits for other transactions/)]);
});
