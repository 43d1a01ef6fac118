import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren } from '../support/children.ts';
import { serve } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();
afterEach(killChildren);

test.each(['1', '2'])('a store with a wrong password says so when it starts, with WORKERS=%s', async (WORKERS) => {
  const { href } = Object.assign(new URL(database.url), { username: 'nobody', password: 'wrong-password' });
  const PORT = String(await freePort());
  const environment = { NODE_ENV: 'production', DATABASE_URL: href, PORT, WORKERS, SHUTDOWN_TIMEOUT: '1' };
  const { process: store } = await serve({ environment, stdout: 'pipe' });
  let output = '';
  store.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  await waitUntil('the line "listening"', () => output.includes('"listening"'));
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [lost, ...others] = lines.filter(({ msg }) => msg === 'the database cannot be reached');
  expect([lost, others]).toEqual([
    expect.objectContaining({
      level: 'error',
      variable: 'DATABASE_URL',
      err: expect.objectContaining({ message: expect.stringMatching(/"nobody"/) }),
    }),
    [],
  ]);
  expect(output).not.toContain('wrong-password');
});
