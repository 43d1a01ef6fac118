import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ensureLocalToken } from '../../src/commands/serve.ts';
import { generateTokenText } from '../../src/tokens/token.ts';
import { otherSessions } from '../support/other-sessions.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
let folder: string;
let file: string;
beforeEach(() => {
  folder = makeTemporaryFolder();
  file = join(folder, 'access-token');
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = () => (statSync(file).mode & 0o777).toString(8);

test('a new token is never in a file that others can read, as in a copied data folder', async () => {
  writeFileSync(file, `${generateTokenText()}\n`);
  chmodSync(file, 0o644);
  const token = await ensureLocalToken(database.url, folder);
  expect([readFileSync(file, 'utf8'), mode()]).toEqual([`${token}\n`, '600']);
});

test.each(['revoked_at', 'expires_at'])(
  'a token whose %s has passed is not announced, and not replaced',
  async (column) => {
    const token = await ensureLocalToken(database.url, folder);
    await database.query(`UPDATE tokens SET ${column} = now()`);
    expect(await ensureLocalToken(database.url, folder)).toBeUndefined();
    expect(readFileSync(file, 'utf8')).toBe(`${token}\n`);
  },
);

test('the file of a known token is taken away from others', async () => {
  const token = await ensureLocalToken(database.url, folder);
  chmodSync(file, 0o666);
  expect(await ensureLocalToken(database.url, folder)).toBe(token);
  expect(mode()).toBe('600');
});

test('a file that cannot be read leaves no connection behind, whose loss would hide the reason', async () => {
  mkdirSync(file);
  await expect(ensureLocalToken(database.url, folder)).rejects.toMatchObject({ code: 'EISDIR' });
  // A pool that is left open closes it after 10 s.
  await waitUntil('its end', async () => (await otherSessions(database)).length === 0, { patience: 5000 });
});
