import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { spawnCommand } from './store-process.ts';
import { waitUntil } from './wait-until.ts';

export const studioCommand = (port: number, browser = 'none') => [
  'studio',
  '--browser',
  browser,
  '--port',
  String(port),
];

/** Starts Prisma Studio on a database, and waits until it responds. */
export const startStudio = async (environment: Record<string, string>, browser = 'none') => {
  const port = await freePort();
  const command = spawnCommand(studioCommand(port, browser), environment);
  const ended = Promise.all([once(command, 'exit'), text(command.stderr as Readable)]).then(([[code], stderr]) => ({
    code,
    stderr,
  }));
  command.stdout?.resume();
  const url = `http://localhost:${port}`;
  await waitUntil('Prisma Studio', async () => (await fetch(url).catch(() => undefined))?.ok === true);
  return {
    url,
    pid: command.pid as number,
    ended,
    /** Sends SIGTERM. @returns exit code and standard error */
    stop: () => {
      command.kill('SIGTERM');
      return ended;
    },
  };
};
