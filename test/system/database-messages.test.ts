import { afterEach, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { runProgram } from '../support/run-program.ts';
import { runCommand } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase();
afterEach(killChildren);

/** Runs commands that write and read, in sessions with a setting. */
const run = (setting: string, ...words: string[]) => {
  const url = new URL(database.url);
  url.searchParams.set('options', `-c ${setting}`);
  return runProgram(words, { DATABASE_URL: url.href });
};

test('a server that is read-only is not one that cannot be reached', async () => {
  const { code, stderr } = await run('default_transaction_read_only=on', 'token', 'create', '--name', 'a');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^The database is not available: cannot execute INSERT in a read-only transaction\. Check DATABASE_URL: role .*\n$/,
    ),
  ]);
});

test.each([['token', 'list'], ['export'], ['search-index', 'status'], ['migrate']])(
  'a setting that does not exist is explained in a sentence: %s %s',
  async (...words) => {
    const { code, stderr } = await run('bogus=1', ...words);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The database is not available: .*unrecognized configuration parameter "bogus"\. Check DATABASE_URL: .*\n$/,
      ),
    ]);
  },
);

test.each([
  [
    'token list',
    /^The database is not migrated\. Run: plant-store migrate\. If it is, the search_path leads elsewhere\. Check /,
  ],
  ['search-index create', /^The search_path \(other\) has no table plants\. Run: plant-store migrate\n$/],
])('a search path without a store is named: %s', async (command, message) => {
  await database.query('CREATE SCHEMA IF NOT EXISTS other');
  const { code, stderr } = await run('search_path=other', ...command.split(' '));
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
});

test.each([
  'port=abc',
  'port=65536',
  'port=0',
  'sslmode=require&sslnegotiation=bogus',
  'sslrootcert=/',
  'sslmode=verify-ca&uselibpqcompat=true',
])('a parameter of the URL that the driver cannot use is explained in a sentence: %s', async (parameters) => {
  const [url] = database.url.split('?');
  const { code, stderr } = await runProgram(['token', 'list'], { DATABASE_URL: `${url}?${parameters}` });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^DATABASE_URL cannot be used: .*\n$/)]);
});

test('a variable of the driver that it cannot use with this URL is explained in a sentence', async () => {
  const [url = ''] = database.url.split('?');
  const { code, stderr } = await runCommand(['token', 'list'], { DATABASE_URL: url, PGSSLNEGOTIATION: 'direct' });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^DATABASE_URL cannot be used: sslnegotiation=.*\n$/)]);
});

test('standard_conforming_strings = off, as old applications need it, changes nothing', async () => {
  for (const command of ['count --q Fir', 'token list', 'search-index status', 'migrate'])
    expect(await run('standard_conforming_strings=off', ...command.split(' '))).toMatchObject({ code: 0, stderr: '' });
});

test('array_nulls = off, with which a missing tag would become the text NULL, is refused', async () => {
  const { code, stderr } = await run('array_nulls=off', 'token', 'list');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^array_nulls is off.* ALTER ROLE .*\n$/)]);
});
