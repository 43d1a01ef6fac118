import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren } from '../support/children.ts';
import { runCommand, spawnCommand } from '../support/store-process.ts';
import { startStudio, studioCommand } from '../support/studio.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

afterEach(killChildren);
const database = useTestDatabase();

test('a port in use: exit code 1 and a one-line message', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const { code, stderr } = await runCommand(studioCommand(port), { DATABASE_URL: database.url });
  other.close();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Prisma Studio cannot listen: .*EADDRINUSE.*\. Choose another --port\.\n$/);
});

test('a database that cannot be reached: exit code 1 and a sentence', async () => {
  const { code, stderr } = await runCommand(studioCommand(await freePort()), { DATABASE_URL: `${database.url}_none` });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^The database is not available: .* does not exist\. Check/),
  ]);
});

test('SIGTERM stops it, with exit code 0', async () => {
  const { stop } = await startStudio({ DATABASE_URL: database.url });
  expect((await stop()).code).toBe(0);
});

test('the command fails if Prisma Studio does', async () => {
  const { pid, ended } = await startStudio({ DATABASE_URL: database.url });
  const { stdout: child } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
  process.kill(Number(child), 'SIGKILL');
  expect(await ended).toEqual({ code: 1, stderr: expect.stringContaining('Prisma Studio ended with SIGKILL') });
});

test('without a program that opens pages it runs all the same', async () => {
  const port = await freePort();
  const environment = { DATABASE_URL: database.url, PATH: '/nowhere', BROWSER: '' };
  const command = spawnCommand(['studio', '--port', String(port)], environment);
  const ended = once(command, 'exit');
  let printed = '';
  command.stdout?.on('data', (chunk) => (printed += chunk));
  await waitUntil('its address', () => printed.includes(`http://localhost:${port}`));
  await waitUntil(
    'its page',
    async () => (await fetch(`http://localhost:${port}`).catch(() => undefined))?.ok === true,
  );
  command.kill();
  expect(await ended).toEqual([0, null]);
});

test('a browser that cannot be started: the message says how to do without', async () => {
  const words = studioCommand(await freePort(), '/nowhere/browser');
  const { code, stderr } = await runCommand(words, { DATABASE_URL: database.url });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/ENOENT[\s\S]*add --browser none\.\n$/)]);
});

test('opens its page in the browser, also with the embedded PostgreSQL', async () => {
  const folder = makeTemporaryFolder();
  const [browser, opened] = [join(folder, 'browser'), join(folder, 'opened')];
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" >${opened}.new && mv ${opened}.new ${opened}\n`, { mode: 0o755 });
  try {
    const { url, stop } = await startStudio({ DATA_DIR: folder }, browser);
    await waitUntil('the browser', () => existsSync(opened));
    expect(readFileSync(opened, 'utf8')).toBe(url);
    expect((await stop()).code).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
