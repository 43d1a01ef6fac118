import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren } from '../support/children.ts';
import { runProgram } from '../support/run-program.ts';
import { serve } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
afterEach(killChildren);

const WARNING =
  /^searches by name (take É and é, or I and i, for different letters|miss a Greek Σ), .* LOCALE 'C\.UTF-8'/;

test.each([
  ["LOCALE 'C' LOCALE_PROVIDER libc", true],
  ["LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'", true],
  ["LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'und'", true],
  ["LOCALE 'C.UTF-8' LOCALE_PROVIDER libc", false],
])('a database with %s, where searches may miss letters: a warning at the start, %s', async (locale, isWarned) => {
  const name = `${database.name}_locale`;
  await database.administer(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${locale}`);
  try {
    const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
    expect(await runProgram(['migrate'], { DATABASE_URL })).toMatchObject({ code: 0, stderr: '' });
    const environment = { NODE_ENV: 'production', DATABASE_URL, PORT: String(await freePort()) };
    const { process: store } = await serve({ environment, stdout: 'pipe' });
    let output = '';
    store.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    await waitUntil('the line "listening"', () => output.includes('"listening"'));
    const messages = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg);
    expect(messages.filter((message) => WARNING.test(message))).toHaveLength(isWarned ? 1 : 0);
    await killChildren();
  } finally {
    await database.administer(`DROP DATABASE ${name} WITH (FORCE)`);
  }
});
