import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hashTokenText } from '../src/tokens/token.ts';
import { killChildren } from './support/children.ts';
import { projectFolder, runCommand } from './support/store-process.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(killChildren);
afterAll(() => database.drop());

const run = (...words: string[]) => runCommand(words, { DATABASE_URL: database.url });

describe('token create', () => {
  test('prints the token alone on standard output, and stores its hash', async () => {
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

  test('refuses a name that was used, also by a token that is revoked', async () => {
    await run('token', 'create', '--name', 'twice');
    await run('token', 'revoke', 'twice');
    const { code, stdout, stderr } = await run('token', 'create', '--name', 'twice');
    expect([code, stdout, stderr]).toEqual([1, '', 'A token named "twice" was made before.\n']);
  });

  test('makes none with --if-none where there is one', async () => {
    await run('token', 'create', '--name', 'any');
    expect(await run('token', 'create', '--name', 'another', '--if-none')).toMatchObject({ code: 0, stdout: '' });
  });

  test('gives the scopes that are asked for', async () => {
    await run('token', 'create', '--name', 'reader', '--scope', 'plants:read');
    const [row] = await database.query("SELECT scopes FROM tokens WHERE name = 'reader'");
    expect(row?.scopes).toEqual(['plants:read']);
  });
});

test('token list shows names and states, and nothing to sign in with', async () => {
  const { stdout: token } = await run('token', 'create', '--name', 'listed', '--expires', '1s');
  await run('token', 'create', '--name', 'gone');
  await run('token', 'revoke', 'gone');
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const { stdout } = await run('token', 'list');
  expect(stdout).toMatch(/^NAME +STATE +CREATED/);
  expect(stdout).toMatch(/^listed +expired /m);
  expect(stdout).toMatch(/^gone +revoked /m);
  expect(stdout).not.toContain(token.trim().slice(6));
  const rows = JSON.parse((await run('token', 'list', '--json')).stdout);
  expect(rows).toContainEqual(
    expect.objectContaining({ name: 'gone', state: 'revoked', revokedAt: expect.any(String) }),
  );
});

describe('token revoke', () => {
  test('revokes, and may be called again', async () => {
    await run('token', 'create', '--name', 'leaving');
    expect(await run('token', 'revoke', 'leaving')).toMatchObject({ code: 0, stdout: '' });
    const [before] = await database.query("SELECT revoked_at FROM tokens WHERE name = 'leaving'");
    expect((await run('token', 'revoke', 'leaving')).code).toBe(0);
    expect(await database.query("SELECT revoked_at FROM tokens WHERE name = 'leaving'")).toEqual([before]);
  });

  test('fails for a name that is not there', async () => {
    expect(await run('token', 'revoke', 'nobody')).toMatchObject({
      code: 1,
      stderr: 'There is no token named "nobody".\n',
    });
  });
});

describe('exit codes', () => {
  test.each([
    [[]],
    [['wrong']],
    [['token']],
    [['token', 'create']],
    [['token', 'create', '--name', 'a b']],
    [['token', 'create', '--name', 'x', '--expires', 'soon']],
    [['token', 'create', '--name', 'x', '--scope', 'all']],
    [['serve', '--port', '1']],
    [['token', 'revoke']],
  ])('2 for a wrong call: %j', async (words) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/Usage:|--help/);
  });

  test.each([
    [['--help']],
    [['serve', '--help']],
    [['migrate', '--help']],
    [['studio', '--help']],
    [['token', '--help']],
    [['token', 'create', '--help']],
    [['token', 'list', '--help']],
    [['token', 'revoke', '--help']],
  ])('0 for %j', async (words) => {
    const { code, stdout } = await run(...words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: plant-store/);
  });

  test('1 without a database, in one line without a stack', async () => {
    const { code, stderr } = await runCommand(['token', 'list'], { DATABASE_URL: 'postgresql://x:y@127.0.0.1:1/x' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database cannot be reached: .*127\.0\.0\.1:1.*\n$/);
  });
});

test('what Node.js makes of the sources is kept in the checkout', async () => {
  const { code, stderr } = await runCommand(['--help'], { NODE_COMPILE_CACHE: '', NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
  const folder = join(projectFolder, 'node_modules', '.cache', 'compile');
  expect(code).toBe(0);
  expect(stderr).toContain(`[compile cache] resolved path ${folder} `);
});
