import { execFile } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { hashTokenText } from '../../src/tokens/token.ts';
import { runCommand, spawnWithInput, startStore } from '../support/store-process.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const folder = useDataFolder();
const database = useTestDatabase();
const empty = useTestDatabase({ migrated: false });
const run = (...words: string[]) => runCommand(words, { DATABASE_URL: database.url });

test('npm start prints its URL and a curl command that stores a plant', async () => {
  const store = await startStore({ DATA_DIR: folder.path });
  expect(store.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(store.token).toMatch(/^plant_[\w-]{43}$/);
  const { stdout } = await promisify(execFile)('sh', ['-c', store.curl]);
  expect(stdout).toBe('{"name":"Fir","tag":"Abies"}');
  expect(await store.stop()).toEqual({ code: 0, signal: null });
  expect(store.output.text).toMatch(/"path":"\/plants","status":200.*\n.*"stopping".*\n.*"stopped"/);
});

test('token create prints only the token to standard output, and stores its hash', async () => {
  const { code, stdout, stderr } = await run('token', 'create', '--name', 'ci@example.org', '--expires', '30d');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^plant_[\w-]{43}\n$/);
  expect(stderr).toContain(`Authorization: Bearer ${stdout.trim()}`);
  const [row] = await database.query("SELECT * FROM tokens WHERE name = 'ci@example.org'");
  expect(row?.hash).toEqual(Buffer.from(hashTokenText(stdout.trim())));
  expect(row?.scopes).toEqual(['plants:read', 'plants:write']);
  const days = (Number(row?.expires_at) - Number(row?.created_at)) / 86_400_000;
  expect(days).toBeCloseTo(30, 1);
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
});
