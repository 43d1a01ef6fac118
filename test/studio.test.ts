import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { killChildren } from './support/children.ts';
import { freePort } from './support/free-port.ts';
import { runCommand, spawnCommand } from './support/store-process.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { waitUntil } from './support/wait-until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(killChildren);
afterAll(() => database.drop());

const studio = (port: number) => ['studio', '--browser', 'none', '--port', String(port)];

/** Starts Prisma Studio and waits until it answers. */
const startStudio = async () => {
  const port = await freePort();
  const command = spawnCommand(studio(port), { DATABASE_URL: database.url });
  const ended = Promise.all([once(command, 'exit'), text(command.stderr as Readable)]).then(([[code], stderr]) => ({
    code,
    stderr,
  }));
  await waitUntil(
    'Prisma Studio',
    async () => (await fetch(`http://127.0.0.1:${port}`).catch(() => undefined))?.ok === true,
  );
  return { pid: command.pid as number, ended };
};

test('a taken port is said in a line, with exit code 1', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const { code, stderr } = await runCommand(studio(port), { DATABASE_URL: database.url });
  other.close();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Prisma Studio cannot listen: .*EADDRINUSE.*\. Choose another --port\.\n$/);
});

test('SIGTERM stops it, with exit code 0', async () => {
  const { pid, ended } = await startStudio();
  process.kill(pid, 'SIGTERM');
  expect((await ended).code).toBe(0);
});

test('its failure is passed on', async () => {
  const { pid, ended } = await startStudio();
  const { stdout: child } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
  process.kill(Number(child), 'SIGKILL');
  expect(await ended).toEqual({ code: 1, stderr: expect.stringContaining('Prisma Studio ended with SIGKILL') });
});
