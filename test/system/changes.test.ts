import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { execPath } from 'node:process';
import { beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { cleanEnvironment, projectFolder, runCommand, spawnCommand } from '../support/store-process.ts';
import { changes, type Line, startReader, useChanges } from '../support/use-changes.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Of the import that is read in bounded memory. `ROWS=1000000` takes a minute. */
const ROWS = Number(process.env.ROWS ?? 50_000);
/** The memory of a reader, in bytes. A new process has a third of it. */
const MAX_MEMORY = 250e6;

const server = useChanges();
const query = (sql: string) => server.postgres.query(sql);
const create = (slot: string) => query(`SELECT pg_create_logical_replication_slot('${slot}', 'pgoutput')`);
const follow = async (slot: string) => {
  await create(slot);
  return startReader(server, slot);
};
beforeAll(async () => {
  const created = { code: 0, stdout: 'Created the slot first.\n', stderr: '' };
  expect(await changes(server, 'first', '--create')).toMatchObject(created);
});
const withoutTimes = (lines: Line[]) => lines.map(({ committedAt: _at, position: _position, ...rest }) => rest);
const drop = (slot: string) => changes(server, slot, '--drop');

test('each kind of change has its line after the commit, and the reader goes on where it stopped', async () => {
  const reader = await follow('kinds');
  await query("INSERT INTO plants VALUES (9223372036854775807, '\ufeffFir \"1\"', NULL), (1, '', '')");
  await query("BEGIN; INSERT INTO plants VALUES (2, 'Yew', NULL); ROLLBACK");
  await query("UPDATE plants SET name = 'Oak' WHERE id = 1");
  await query('UPDATE plants SET id = 3 WHERE id = 1');
  await query('DELETE FROM plants WHERE id = 3');
  await query('TRUNCATE plants');
  await waitUntil('the lines', () => reader.lines.length === 7);
  expect(await reader.end('SIGINT')).toBe(0);
  expect(withoutTimes(reader.lines)).toEqual([
    { change: 'created', id: Number('9223372036854775807'), name: '\ufeffFir "1"', tag: null },
    { change: 'created', id: 1, name: '', tag: '' },
    { change: 'updated', id: 1, name: 'Oak', tag: '' },
    { change: 'deleted', id: 1 },
    { change: 'created', id: 3, name: 'Oak', tag: '' },
    { change: 'deleted', id: 3 },
    { change: 'emptied' },
  ]);
  expect(reader.lines[0]?.position).toMatch(/^(0|[1-9A-F][0-9A-F]*)\/(0|[1-9A-F][0-9A-F]*)$/);
  expect(Date.now() - Date.parse(reader.lines[0]?.committedAt ?? '')).toBeLessThan(60_000);
  await query("INSERT INTO plants VALUES (4, 'Ash', 'Fraxinus')");
  const next = startReader(server, 'kinds');
  await waitUntil('the line', () => next.lines.length > 0);
  expect(await next.end('SIGTERM')).toBe(0);
  expect(withoutTimes(next.lines)).toEqual([{ change: 'created', id: 4, name: 'Ash', tag: 'Fraxinus' }]);
  expect(await drop('kinds')).toMatchObject({ code: 0, stdout: 'Dropped the slot kinds.\n' });
});

test('a change of many plants has a line for each plant that it changed', async () => {
  await query("INSERT INTO plants SELECT id, 'Fir', 'many' FROM generate_series(21, 24) AS id");
  const reader = await follow('many');
  await query("UPDATE plants SET name = 'Yew' WHERE id = 22");
  const run = (...words: string[]) => runCommand([...words, '--tag', 'many'], server.environment);
  expect((await run('patch', '{"name": "Yew"}')).stdout).toBe('3 updated\n');
  expect((await run('delete', '--limit', '2')).stdout).toBe('2 deleted\n');
  await waitUntil('the lines', () => reader.lines.length === 6);
  await reader.end('SIGINT');
  const lines = withoutTimes(reader.lines.slice(1)).toSorted((a, b) => Number(a.id) - Number(b.id));
  expect(lines).toEqual([
    { change: 'updated', id: 21, name: 'Yew', tag: 'many' },
    { change: 'deleted', id: 21 },
    { change: 'deleted', id: 22 },
    { change: 'updated', id: 23, name: 'Yew', tag: 'many' },
    { change: 'updated', id: 24, name: 'Yew', tag: 'many' },
  ]);
});

test('a large value that did not change is left out', async () => {
  await query(
    "INSERT INTO plants VALUES (10, (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 32768) i), 'a')",
  );
  const reader = await follow('large');
  await query("UPDATE plants SET tag = 'b' WHERE id = 10");
  await query("UPDATE plants SET name = name || '!' WHERE id = 10");
  await waitUntil('the lines', () => reader.lines.length === 2);
  await reader.end('SIGINT');
  expect(withoutTimes(reader.lines.slice(0, 1))).toEqual([{ change: 'updated', id: 10, tag: 'b' }]);
  expect(reader.lines[1]?.name).toHaveLength(1_048_577);
});

test('what other tables write is confirmed, so that PostgreSQL need not keep it', async () => {
  const reader = await follow('idle');
  await query('CREATE TABLE other AS SELECT generate_series(1, 1000)');
  const [{ end } = {}] = await query('SELECT pg_current_wal_lsn() AS end');
  const behind = async () =>
    (await query(`SELECT FROM pg_replication_slots WHERE slot_name = 'idle' AND confirmed_flush_lsn < '${end}'`))
      .length;
  await waitUntil('the confirmation', async () => (await behind()) === 0);
  await reader.end('SIGINT');
});

test('an import is read in bounded memory, and by a reader that nobody reads its connection is kept', async () => {
  await create('import');
  const command = spawnCommand(['changes', '--slot', 'import'], server.environment);
  command.stdout?.pause();
  const session = async () => (await query("SELECT pid FROM pg_stat_replication WHERE state = 'streaming'"))[0]?.pid;
  await waitUntil('the reader', async () => (await session()) !== undefined);
  const pid = await session();
  await query(
    `INSERT INTO plants SELECT i, 'Fir ' || md5(i::text), 'tag' FROM generate_series(1000001, ${1_000_000 + ROWS}) i`,
  );
  // Longer than the wal_sender_timeout of this server.
  const later = Date.now() + 5000;
  await waitUntil('the time to pass', () => Date.now() > later);
  expect(await session()).toBe(pid);
  let [count, peak] = [0, 0];
  command.stdout?.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) count += 1;
    peak = Math.max(peak, memoryOf(command.pid));
  });
  command.stdout?.resume();
  await waitUntil('the lines', () => count >= ROWS, { patience: 60_000 + ROWS / 10 });
  process.kill(-(command.pid ?? 0), 'SIGINT');
  await once(command, 'close');
  process.stdout.write(`${ROWS} changes read with at most ${Math.round(peak / 1e6)} MB\n`);
  expect(count).toBe(ROWS);
  expect(peak).toBeLessThan(MAX_MEMORY);
});

/** The most memory that a process had, in bytes; 0 where there is no /proc. */
const memoryOf = (pid = 0): number => {
  try {
    return 1024 * Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
};

test('what waits for a full pipe is not confirmed, and comes again after kill -9', async () => {
  await create('full');
  const confirmed = async () =>
    (await query("SELECT confirmed_flush_lsn AS at FROM pg_replication_slots WHERE slot_name = 'full'"))[0]?.at;
  const before = await confirmed();
  await query(`DO $$ BEGIN FOR i IN 1..1000 LOOP
    INSERT INTO plants VALUES (-10000 - i, repeat('x', 1000)); COMMIT; END LOOP; END $$`);
  const reader = startReader(server, 'full');
  reader.command.stdout?.pause();
  await waitUntil('the confirmation of a part', async () => (await confirmed()) !== before);
  process.kill(-(reader.command.pid ?? 0), 'SIGKILL');
  reader.command.stdout?.resume();
  await reader.ended;
  const rest = startReader(server, 'full');
  await waitUntil('the last line', () => rest.lines.at(-1)?.id === -11000);
  await rest.end('SIGINT');
  expect(new Set([...reader.lines, ...rest.lines].map(({ id }) => id)).size).toBe(1000);
});

test('a reader that closes the pipe, as `| head -2` does, ends the command with 0', async () => {
  await create('head');
  await query("INSERT INTO plants SELECT -i, repeat('x', 1000), NULL FROM generate_series(1, 2000) i");
  const script = `"${execPath}" bin/plant-store.js changes --slot head | head -2; echo "\${PIPESTATUS[0]}"`;
  const shell = spawn('bash', ['-c', script], { cwd: projectFolder, env: cleanEnvironment(server.environment) });
  let printed = '';
  shell.stdout.on('data', (chunk) => (printed += chunk));
  await once(shell, 'close');
  expect(printed).toMatch(/^(\{"change":"created","id":-\d+,"name":"x{1000}".*\}\n){2}0\n$/);
});

test('a slot has one reader, and a name of PostgreSQL with at most 63 characters', async () => {
  const reader = await follow('busy');
  await query("INSERT INTO plants VALUES (-9999, 'Fir', NULL)");
  await waitUntil('the line', () => reader.lines.length > 0);
  const inUse = { code: 1, stdout: '', stderr: expect.stringMatching(/^The slot busy is in use\. .*\n$/) };
  expect(await changes(server, 'busy')).toMatchObject(inUse);
  expect(await drop('busy')).toMatchObject(inUse);
  expect(await changes(server, 'busy', '--create')).toMatchObject({
    code: 0,
    stdout: 'The slot busy exists already.\n',
  });
  await reader.end('SIGINT');
  await drop('busy');
  const gone = expect.stringMatching(
    /^There is no slot busy\. After a failover it may be gone\. Create it with --create/,
  );
  expect(await changes(server, 'busy')).toMatchObject({ code: 1, stderr: gone });
  expect(await drop('busy')).toMatchObject({ code: 1, stderr: gone });
  expect(await changes(server, 'Busy')).toMatchObject({ code: 2, stderr: expect.stringContaining('a-z, 0-9 and _') });
  expect(await changes(server, 'a'.repeat(64), '--drop')).toMatchObject({ code: 2 });
  expect(await changes(server, 'a'.repeat(63), '--drop')).toMatchObject({ code: 1 });
  expect(await changes(server, 'busy', '--create', '--drop')).toMatchObject({ code: 2 });
});

test('a slot of another program is neither used nor dropped, and there may be no free one', async () => {
  const free = "current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots)";
  await query(`SELECT pg_create_physical_replication_slot('other_' || i) FROM generate_series(1, ${free}) i`);
  expect(await changes(server, 'other_1', '--create')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The slot other_1 belongs to another database or program\./),
  });
  expect(await drop('other_1')).toMatchObject({ code: 1 });
  expect(await changes(server, 'fifth', '--create')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^PostgreSQL has no free slot\. .* max_replication_slots/),
  });
  await query("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_type = 'physical'");
});

test('a role needs REPLICATION to follow and to create, and to own the table to create', async () => {
  await create('roles');
  await query("CREATE ROLE reader LOGIN PASSWORD 'reader'");
  const url = Object.assign(new URL(server.postgres.url), { username: 'reader', password: 'reader' }).href;
  const as = (...words: string[]) => runCommand(['changes', '--slot', 'roles', ...words], { DATABASE_URL: url });
  expect(await as()).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The role needs REPLICATION \(.*\n$/) });
  await query('ALTER ROLE reader REPLICATION');
  expect(await as('--create')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Only the owner .*plant_store\.\n$/),
  });
  const reader = startReader({ ...server, environment: { DATABASE_URL: url } }, 'roles');
  await query("INSERT INTO plants VALUES (20, 'Yew', NULL)");
  await waitUntil('the line', () => reader.lines.length > 0);
  expect(await reader.end('SIGINT')).toBe(0);
});

test('a slot that fell too far behind is lost, and the command says what to do', async () => {
  await create('lost');
  await query("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
  await query("ALTER SYSTEM SET wal_keep_size = '0'");
  await query('SELECT pg_reload_conf()');
  const client = new Client({ connectionString: server.postgres.url });
  await client.connect();
  for (let segment = 0; segment < 3; segment++) {
    await client.query("SELECT pg_logical_emit_message(FALSE, '', 'x')");
    await client.query('SELECT pg_switch_wal()');
  }
  await client.query('CHECKPOINT');
  await client.end();
  const [{ state } = {}] = await query("SELECT wal_status AS state FROM pg_replication_slots WHERE slot_name = 'lost'");
  expect(state).toBe('lost');
  const stderr = expect.stringMatching(/^The slot lost is lost: .* --drop\. Create it with --create, and then export/);
  expect(await changes(server, 'lost')).toMatchObject({ code: 1, stderr });
  expect(await changes(server, 'lost', '--create')).toMatchObject({ code: 1, stderr, stdout: '' });
  expect(await drop('lost')).toMatchObject({ code: 0 });
  await query('ALTER SYSTEM RESET ALL');
  await query('SELECT pg_reload_conf()');
});

test('on Citus, changes cannot be followed', async () => {
  const catalog = "CREATE TABLE pg_catalog.pg_dist_partition AS SELECT 'plants'::regclass AS logicalrelid";
  await query(`SET allow_system_table_mods = on; ${catalog}`);
  const stderr = expect.stringMatching(/^Changes cannot be followed on Citus: each worker logs .*\n$/);
  expect(await changes(server, 'citus', '--create')).toMatchObject({ code: 1, stderr });
  await query('SET allow_system_table_mods = on; DROP TABLE pg_catalog.pg_dist_partition');
});

test('through a pooler, changes need DIRECT_URL', async () => {
  const url = `${server.postgres.url}?pgbouncer=true`;
  expect(await runCommand(['changes', '--slot', 'a'], { DATABASE_URL: url })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Following changes needs a session, .* Set DIRECT_URL /),
  });
});

test('when PostgreSQL stops, it need not wait for the reader, which ends with a sentence', async () => {
  const reader = await follow('stopped');
  await query("INSERT INTO plants VALUES (30, 'Fir', NULL)");
  await waitUntil('the line', () => reader.lines.length > 0);
  await server.postgres.stop();
  expect(await reader.ended).toBe(1);
  expect(reader.errors.text).toMatch(
    /Start the command again: it goes on where it stopped, or says that the slot is lost\.\n$/,
  );
  await server.postgres.start();
});
