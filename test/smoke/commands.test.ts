import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { hashTokenText } from '../../src/tokens/token.ts';
import { runCommand, runCommandOnFullDisk, spawnWithInput, startStore } from '../support/store-process.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const folder = useDataFolder();
const database = useTestDatabase();
const empty = useTestDatabase({ migrated: false });
const run = (...words: string[]) => runCommand(words, { DATABASE_URL: database.url });

test('npm start prints its URL and a curl command that stores a plant', async () => {
  // The default is more than some machines allow, which is a warning.
  const store = await startStore({ DATA_DIR: folder.path, MAX_CONNECTIONS: '100' });
  expect(store.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(store.token).toMatch(/^plant_[\w-]{43}$/);
  expect(store.output.text).not.toContain('"level":"warn"');
  const { stdout } = await promisify(execFile)('sh', ['-c', store.curl]);
  expect(stdout).toBe('{"name":"Fir","tag":"Abies"}');
  const headers = { Authorization: `Bearer ${store.token}`, 'Content-Type': 'application/json' };
  await fetch(`${store.url}/plants`, { method: 'POST', headers, body: '{"id":2,"name":"Épicéa"}' });
  expect(await (await fetch(`${store.url}/plants?q=éPICÉ`, { headers })).text()).toContain('"Épicéa"');
  // A token for this machine never goes to a proxy.
  const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const remote = { PLANT_STORE_URL: store.url, PLANT_STORE_TOKEN: store.token };
  expect(await runCommand(['count'], { ...remote, ...proxy })).toMatchObject({ code: 0, stdout: '2\n' });
  expect(await store.stop()).toEqual({ code: 0, signal: null });
  expect(store.output.text).toMatch(/"path":"\/plants\/count".*"status":200.*\n.*"stopping".*\n.*"stopped"/);
  // Its PostgreSQL has stopped, too.
  expect(existsSync(join(folder.path, 'postgres', 'PG_VERSION'))).toBe(true);
  expect(existsSync(join(folder.path, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('token create prints only the token to standard output, and stores its hash', async () => {
  const { code, stdout, stderr } = await run('token', 'create', '--name', 'ci@example.org', '--expires', '30d');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^plant_[\w-]{43}\n$/);
  expect(stderr).toContain(`Authorization: Bearer ${stdout.trim()}`);
  const [row] = await database.query("SELECT * FROM tokens WHERE name = 'ci@example.org'");
  expect(row?.hash).toEqual(Buffer.from(hashTokenText(stdout.trim()), 'hex'));
  expect(row?.scopes).toEqual(['plants:read', 'plants:write']);
  const days = (Number(row?.expires_at) - Number(row?.created_at)) / 86_400_000;
  expect(days).toBeCloseTo(30, 1);
});

test('two workers start, serve, log and stop as one', async () => {
  const store = await startStore({ DATABASE_URL: database.url, DATA_DIR: folder.path, WORKERS: '2' });
  const headers = { Authorization: `Bearer ${store.token}` };
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async () => (await fetch(`${store.url}/plants`, { headers })).status),
  );
  expect(statuses).toEqual(Array(10).fill(200));
  // Its output may come after its exit.
  const closed = once(store.process, 'close');
  expect(await store.stop()).toEqual({ code: 0, signal: null });
  await closed;
  expect(store.output.text.match(/"path":"\/plants"/g)).toHaveLength(10);
  expect(store.output.text.match(/"worker started"/g)).toHaveLength(2);
  expect(store.output.text).not.toContain('a worker died');
});

test('a command that is used in a wrong way ends with 2 and says how', async () => {
  const { code, stdout, stderr } = await run('token', 'create');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain("required option '--name <name>' not specified");
});

describe('a standard output that is full', () => {
  const withFull = (...words: string[]) => runCommandOnFullDisk(words, { DATABASE_URL: database.url });

  test('ends token create with an error, and the token is deleted', async () => {
    const { code, stderr } = await withFull('token', 'create', '--name', 'unprinted');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The token could not be printed and was deleted: .*ENOSPC.*\n$/);
    expect(await database.query("SELECT name FROM tokens WHERE name = 'unprinted'")).toEqual([]);
  });

  test('a file with room for a part only is an error as well', async () => {
    const env = { ...process.env, DATABASE_URL: database.url };
    // In blocks of 512 bytes. As on a full disk, the first write is cut short, and only the next one would fail.
    const script = 'ulimit -f 8; exec node bin/plant-store.js openapi >"$0"';
    const { code, stderr } = await promisify(execFile)('sh', ['-c', script, join(folder.path, 'out')], { env }).catch(
      (error) => error,
    );
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The output could not be written: .*EFBIG.*\n$/)]);
  });

  test('ends token list with an error', async () => {
    const { code, stderr } = await withFull('token', 'list');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^.*ENOSPC.*\n$/)]);
  });
});

test.each(['ndjson', 'csv'])(
  'export and import copy a database through a pipe as %s without changing a byte',
  async (format) => {
    await database.query('TRUNCATE plants');
    await database.query(`INSERT INTO plants
      SELECT id * 1500000000000000 - 9000000000000000000, E'Fir "' || id || E'",\\r\\n é', CASE id % 3 WHEN 0 THEN '' WHEN 1 THEN 'Abies' END
      FROM generate_series(1, 6000) AS id`);
    const other = await createTestDatabase();
    try {
      const from = spawnWithInput(['export', '--format', format], { DATABASE_URL: database.url });
      const to = spawnWithInput(['import', '-', '--format', format], { DATABASE_URL: other.url });
      if (!from.stdout || !to.stdin || !to.stdout) throw new Error('no pipes');
      const said = text(to.stdout);
      await pipeline(from.stdout, to.stdin);
      expect(await said).toMatch(
        /^6,000 created, 0 replaced, 0 skipped, 0 failed in \d+\.\d s \([\d,]+ rows\/s\)\.\n$/,
      );
      const [first, second] = await Promise.all([
        run('export', '--format', format),
        runCommand(['export', '--format', format], { DATABASE_URL: other.url }),
      ]);
      expect(first.stdout.length).toBeGreaterThan(200_000);
      expect(second.stdout === first.stdout).toBe(true);
      expect([first.code, second.code, first.stderr]).toEqual([0, 0, 'Exported 6,000 plants.\n']);
    } finally {
      await other.drop();
    }
  },
);

test('migrate applies the migrations once and records them as `prisma migrate` does', async () => {
  const migrate = () => runCommand(['migrate'], { DATABASE_URL: empty.url, NODE_ENV: 'production' });
  const first = await migrate();
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: \d{14}_/) });
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect(await empty.query('SELECT count(*) FROM plants')).toEqual([{ count: '0' }]);
  const rows = await empty.query('SELECT applied_steps_count FROM _prisma_migrations');
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row.applied_steps_count).toBe(1);
  // As `prisma migrate resolve --rolled-back` records it.
  const [{ name } = {}] = await empty.query(`
    UPDATE _prisma_migrations SET rolled_back_at = now()
    WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING migration_name AS name`);
  await empty.query('ALTER TABLE tokens DROP last_used_at, DROP previous_hash, DROP previous_expires_at');
  expect(await migrate()).toMatchObject({ code: 0, stdout: `Applied: ${name}\n` });
});
