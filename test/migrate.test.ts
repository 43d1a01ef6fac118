import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runCommand } from './support/store-process.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterEach(() => database.drop());

const migrate = () => runCommand(['migrate'], { DATABASE_URL: database.url, NODE_ENV: 'production' });
const applied = () => database.query('SELECT migration_name, applied_steps_count FROM _prisma_migrations');

test('applies the migrations once, in the form that `prisma migrate` keeps them', async () => {
  const first = await migrate();
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: \d{14}_/) });
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'Nothing to apply.\n' });
  expect(await database.query('SELECT count(*) FROM plants')).toEqual([{ count: '0' }]);
  const rows = await applied();
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row.applied_steps_count).toBe(1);
});

test('four at once migrate once', async () => {
  const results = await Promise.all([migrate(), migrate(), migrate(), migrate()]);
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(results.filter(({ stdout }) => stdout.startsWith('Applied')).length).toBe(1);
  expect(await database.query('SELECT migration_name FROM _prisma_migrations GROUP BY 1 HAVING count(*) > 1')).toEqual(
    [],
  );
});

test('a database that holds something else is left alone, with an error', async () => {
  await database.query('CREATE TABLE somebody_elses (id int)');
  const { code, stderr } = await migrate();
  expect(code).toBe(1);
  expect(stderr).toContain('not empty');
  expect(stderr).not.toMatch(/^\s+at /m);
});

test.each([
  ['no server', (url: URL) => Object.assign(url, { port: '1' })],
  ['a wrong password', (url: URL) => Object.assign(url, { password: 'wrong' })],
  ['no such database', (url: URL) => Object.assign(url, { pathname: '/nothing' })],
  ['no such host', (url: URL) => Object.assign(url, { hostname: 'nothing.invalid' })],
])('%s is said in a line', async (_title, change) => {
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL: change(new URL(database.url)).href });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The database cannot be reached: .+\n$/);
});
