import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { findCitusObstacle, startCitusCluster } from '../support/citus-cluster.ts';
import { createCitusDatabase, databaseOn } from '../support/citus-database.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { query } from '../support/postgres-server.ts';
import { distribute } from '../support/psql.ts';
import { describeUnless } from '../support/skip.ts';
import { runCommand, startStore } from '../support/store-process.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const NDJSON = { 'Content-Type': 'application/x-ndjson' };

describeUnless(await findCitusObstacle(), 'distributing a database with Citus', () => {
  let folder: string;
  let cluster: Awaited<ReturnType<typeof startCitusCluster>>;

  const command = (database: string, ...words: string[]) => runCommand(words, { DATABASE_URL: database });
  const createDatabase = (name: string) => createCitusDatabase([cluster.coordinator, ...cluster.workers], name);

  /** PostgreSQL takes a moment to end the session of a client that has gone. */
  const endOfSessions = (database: string) =>
    waitUntil('the end of all sessions', async () => {
      const sessions = await otherSessions({ query: (sql) => query(database, sql) });
      return sessions.length === 0;
    });

  beforeAll(async () => {
    folder = makeDataFolder();
    cluster = await startCitusCluster(folder);
  });
  afterAll(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  describe('a database that is not distributed', () => {
    let whole: string;
    beforeAll(async () => {
      whole = await createDatabase('whole');
      expect((await command(whole, 'migrate')).code).toBe(0);
    });
    beforeEach(() => endOfSessions(whole));

    test.each([
      [
        'a database without Citus',
        () => cluster.coordinator.url,
        /ERROR: {2}This database does not have the extension Citus\.\nHINT: .* CREATE EXTENSION citus\n/,
      ],
      [
        'a worker',
        () => databaseOn(cluster.workers[0], 'whole'),
        /ERROR: {2}This is a worker\.\nHINT: {2}Connect to the coordinator/,
      ],
    ])('distributing %s says what to do', async (_title, database, message) => {
      await expect(distribute(database())).rejects.toMatchObject({ code: 3, stderr: expect.stringMatching(message) });
    });

    test.each(['0', '-1', '1.5', 'many', '64001'])('refuses %s shards, and changes nothing', async (shards) => {
      const message = /ERROR: {2}(invalid input syntax for type integer: |.*shard_count" \(1 \.\. 64000\))/;
      const refused = { code: 3, stderr: expect.stringMatching(message) };
      await expect(distribute(whole, `--set=shards=${shards}`)).rejects.toMatchObject(refused);
      expect(await query(whole, 'SELECT FROM pg_dist_partition')).toEqual([]);
    });

    test('refuses another role than the owner, and names the owner', async () => {
      await query(whole, "CREATE ROLE stranger LOGIN PASSWORD 'x'");
      const strange = Object.assign(new URL(whole), { username: 'stranger', password: 'x' }).href;
      const message =
        /ERROR: {2}The role stranger does not own the tables\.\nHINT: .* the role that migrates: plant_store\n/;
      await expect(distribute(strange)).rejects.toMatchObject({ code: 3, stderr: expect.stringMatching(message) });
    });

    test('refuses while another session uses the database', async () => {
      const session = new Client({ connectionString: whole });
      await session.connect();
      const message =
        /ERROR: {2}1 other sessions use this database \(roles: plant_store\)\.\nHINT: {2}Stop all instances /;
      await expect(distribute(whole)).rejects.toMatchObject({ code: 3, stderr: expect.stringMatching(message) });
      await session.end();
    });
  });

  test('a store that was idle while its tables were distributed never takes a taken id for free', async () => {
    const idleUrl = await createDatabase('idle');
    expect((await command(idleUrl, 'migrate')).code).toBe(0);
    const created = await command(idleUrl, 'token', 'create', '--name', 'test');
    const headers = { Authorization: `Bearer ${created.stdout.trim()}`, 'Content-Type': 'application/json' };
    const idle = await startStore({ DATA_DIR: folder, DATABASE_URL: idleUrl, RATE_LIMIT: '1000000/60' });
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void (await idle.stop()));
    const send = async (method: string, path: string, body?: string, more = {}) => {
      const response = await fetch(idle.url + path, {
        method,
        headers: { ...headers, ...more },
        ...(body && { body }),
      });
      return { status: response.status, text: await response.text() };
    };
    const create = async (id: number, more = {}) =>
      (await send('POST', '/plants', `{"id":${id},"name":"Oak"}`, more)).status;
    const importRows = async (ids: number[], parameters: string) => {
      const rows = ids.map((id) => `{"id":${id},"name":"Ash"}`).join('\n');
      return JSON.parse((await send('POST', `/plants/import${parameters}`, rows, NDJSON)).text);
    };
    const stored = async () =>
      (await query(idleUrl, 'SELECT id, name FROM plants ORDER BY id')).map(({ id, name }) => `${id} ${name}`);

    // It has chosen its statements, and its pools close connections that nobody uses.
    for (let id = 1; id <= 20; id++) expect(await create(id)).toBe(200);
    expect(await importRows([21], '')).toMatchObject({ created: 1 });
    await endOfSessions(idleUrl);
    await distribute(idleUrl, '--set=shards=4');
    const before = await stored();

    const reads = await Promise.all([1, 2, 3, 4, 5].map((id) => send('GET', `/plants/${id}`)));
    expect(reads.map(({ text }) => text)).toEqual([1, 2, 3, 4, 5].map((id) => `{"id":${id},"name":"Oak"}`));
    expect([await create(1), await create(2)]).toEqual([400, 400]);
    expect(await create(3, { 'Idempotency-Key': '"a"' })).toBe(400);
    expect(new Set(await Promise.all(Array.from({ length: 21 }, (_, index) => create(index + 1))))).toEqual(
      new Set([400]),
    );
    for (const [parameters, outcome] of [
      ['', { created: 0, failed: 2 }],
      ['?onConflict=skip', { created: 0, skipped: 2 }],
      ['?dryRun=true', { created: 0, failed: 2 }],
      ['?atomic=true&onConflict=skip', { created: 0, skipped: 2 }],
    ] as const)
      expect(await importRows([4, 5], parameters)).toMatchObject(outcome);
    expect(await stored()).toEqual(before);

    // Some are free. Whatever was confirmed is stored.
    const ids = Array.from({ length: 40 }, (_, index) => index + 10);
    const statuses = await Promise.all(ids.map((id) => create(id)));
    expect(statuses).toEqual(ids.map((id) => (id <= 21 ? 400 : 200)));
    expect([await create(50), await create(51, { 'Idempotency-Key': '"b"' })]).toEqual([200, 200]);
    expect(await importRows([51, 52], '?onConflict=skip')).toMatchObject({ created: 1, skipped: 1 });
    expect((await send('DELETE', '/plants/53')).status).toBe(404);
    expect((await send('DELETE', '/plants/50')).status).toBe(204);
    expect((await send('PUT', '/plants/50', '{"name":"Elm"}')).status).toBe(404);
    expect((await send('PUT', '/plants/49', '{"name":"Elm"}', { 'If-Match': '"x"' })).status).toBe(412);
    expect((await send('PATCH', '/plants/49', '{"name":"Oak"}')).text).toBe('{"name":"Oak"}');
    const more = Array.from({ length: 28 }, (_, index) => `${index + 22} Oak`);
    expect(await stored()).toEqual([...before, ...more, '51 Oak', '52 Ash']);
  });

  test('distributes the tables of the schema in the search path', async () => {
    const database = await createDatabase('gardens');
    expect((await command(`${database}?schema=garden`, 'migrate')).code).toBe(0);
    // What PGOPTIONS does.
    await distribute(`${database}?options=-c%20search_path%3Dgarden`);
    const distributed =
      'SELECT count(*)::int, min(shard_count)::int AS least, max(shard_count)::int AS most FROM citus_tables';
    expect(await query(database, `${distributed} WHERE table_name::text LIKE 'garden.%'`)).toEqual([
      { count: 4, least: 1, most: 8 },
    ]);
  });

  test('a migration changes distributed tables', async () => {
    const database = await createDatabase('migrated');
    expect((await command(database, 'migrate')).code).toBe(0);
    await distribute(database);
    await query(
      database,
      'ALTER TABLE tokens DROP COLUMN last_used_at, DROP COLUMN previous_hash, DROP COLUMN previous_expires_at',
    );
    const [last] = await query(
      database,
      'DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING migration_name AS name',
    );
    expect(await command(database, 'migrate')).toEqual({ code: 0, stdout: `Applied: ${last?.name}\n`, stderr: '' });
    expect((await command(database, 'token', 'create', '--name', 'test')).code).toBe(0);
  });
});
