import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { leaseDatabaseToUse } from './lease-database.ts';

/** Prisma Studio cannot be opened; `message` says why. */
export class StudioError extends Error {
  override name = 'StudioError';
}

type StudioOptions = { port: string; browser?: string };

const projectFolder = join(import.meta.dirname, '..', '..');

/**
 * Runs Prisma Studio on the store's database until it is stopped; the embedded one is kept up meanwhile.
 * @throws {StudioError} also where it ends without being stopped
 */
export const openStudio = async (config: Config, { port, browser }: StudioOptions): Promise<void> => {
  const prisma = join(projectFolder, 'node_modules', 'prisma', 'build', 'index.js');
  if (!existsSync(prisma))
    throw new StudioError(
      'Prisma Studio is not installed here: it is a development package. In compose: --profile studio',
    );
  await assertPortFree(Number(port));
  const lease = await leaseDatabaseToUse(config);
  const options = ['studio', '--port', port, ...(browser ? ['--browser', browser] : [])];
  // Studio finds the database in prisma.config.ts, by the environment: a URL on its command line could be seen by others.
  const env = { ...process.env, DATABASE_URL: lease.url, CHECKPOINT_DISABLE: '1' };
  const studio = spawn(process.execPath, [prisma, ...options], { cwd: projectFolder, env, stdio: 'inherit' });
  let stopping = false;
  for (const stopSignal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(stopSignal, () => {
      stopping = true;
      studio.kill(stopSignal);
    });
  }
  const [code, signal] = await once(studio, 'exit').finally(lease.release);
  if (code !== 0 && !stopping) throw new StudioError(`Prisma Studio ended with ${signal ?? `exit code ${code}`}.`);
};

/** Prisma Studio shows a stack trace where its port is taken. */
const assertPortFree = async (port: number) => {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StudioError(`Prisma Studio cannot listen: ${(error as Error).message}. Choose another --port.`);
  }
  await once(server.close(), 'close');
};
