import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { spawnChild } from '../support/children.ts';
import { runCommand, spawnCommand } from '../support/store-process.ts';
import { changes, useChanges } from '../support/use-changes.ts';
import { waitUntil } from '../support/wait-until.ts';

const server = useChanges();
const page = readFileSync('docs/how-to/follow-changes.md', 'utf8');
const [, script = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
const query = (sql: string) => server.postgres.query(sql);

test('the mirror of docs/how-to/follow-changes.md has the same plants, although both it and the command are killed', async () => {
  const [file, database, program] = ['changes.ndjson', 'plants.db', 'mirror.mjs'].map((name) =>
    join(server.folder, name),
  );
  writeFileSync(program as string, script);
  await query(
    "INSERT INTO plants VALUES (9223372036854775807, '\ufeffFir {\"change\"', NULL), (2, repeat('x', 100000), 'a')",
  );
  await changes(server, 'mirror', '--create');
  await query("UPDATE plants SET tag = 'between' WHERE id = 2");
  const log = openSync(file as string, 'a');
  expect(await runCommand(['export', '-'], server.environment, log)).toMatchObject({ code: 0 });

  const follow = () => spawnCommand(['changes', '--slot', 'mirror'], server.environment, log);
  const mirror = () => spawnChild(process.execPath, [program, file, database] as string[], { stdio: 'inherit' });
  const rows = () => {
    const db = new DatabaseSync(database as string, { readBigInts: true });
    try {
      return db.prepare('SELECT CAST(id AS TEXT) AS id, name, tag FROM plants ORDER BY plants.id').all();
    } catch {
      return [];
    } finally {
      db.close();
    }
  };
  const stored = () => query('SELECT id::text, name, tag FROM plants ORDER BY plants.id');
  const isMirrored = async () => JSON.stringify(rows()) === JSON.stringify(await stored());
  let [reader, writer] = [follow(), mirror()];
  await query("UPDATE plants SET tag = 'b' WHERE id = 2; INSERT INTO plants VALUES (-5, '', ''), (6, 'Yew', 'Taxus')");
  await query('UPDATE plants SET tag = NULL WHERE id = 6; DELETE FROM plants WHERE id = -5');
  await waitUntil('the mirror', isMirrored);
  expect(rows()).toHaveLength(3);

  process.kill(-(reader.pid ?? 0), 'SIGKILL');
  writer.kill('SIGKILL');
  // As if the command had been killed while it wrote.
  writeFileSync(log, '{"change":"created","id":99,"name":"half');
  await query("INSERT INTO plants SELECT i, 'Fir ' || i, NULL FROM generate_series(100, 5100) i");
  await waitUntil(
    'the end of the killed command',
    async () => (await query('SELECT FROM pg_stat_replication')).length === 0,
  );
  [reader, writer] = [follow(), mirror()];
  await waitUntil('the mirror', isMirrored);
  expect(rows()).toHaveLength(5004);
  // A line of 18 MB.
  await query("INSERT INTO plants VALUES (7, repeat(E'\\x01', 3000000), NULL), (8, 'Fir', NULL)");
  await waitUntil('the mirror', isMirrored);
  using copy = new DatabaseSync(database as string);
  // Someone who reads the copy all the time.
  copy.exec('BEGIN; SELECT * FROM plants');
  await query('TRUNCATE plants');
  await waitUntil('the mirror', isMirrored);
  process.kill(-(reader.pid ?? 0), 'SIGTERM');
  writer.kill('SIGKILL');
  closeSync(log);
});

test('the query of the page finds a slot that is lost or far behind', async () => {
  const sql = /```sql\n(SELECT slot_name[\s\S]*?)```/.exec(page)?.[1] ?? '';
  expect(await query(sql)).toEqual([]);
  await changes(server, 'behind', '--create');
  expect(await query(sql.replace('> 1e9', '>= 0'))).toContainEqual(expect.objectContaining({ slot_name: 'behind' }));
});

test('the embedded PostgreSQL has wal_level = logical on request only', async () => {
  const run = (...words: string[]) => runCommand(['changes', '--slot', 'own', ...words], { DATA_DIR: server.folder });
  expect(await run('--create')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /Changes need wal_level = logical\. Set it as docs\/how-to\/follow-changes\.md says.*\n$/,
    ),
  });
  const environment = { DATA_DIR: server.folder, EMBEDDED_WAL_LEVEL: 'logical' };
  expect(await runCommand(['changes', '--slot', 'own', '--create'], environment)).toMatchObject({ code: 0 });
  expect(await runCommand(['changes', '--slot', 'own', '--drop'], environment)).toMatchObject({ code: 0 });
});
