import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { OperationalError } from '../operational-error.ts';
import { leaseDatabaseToUse } from './lease-database.ts';

type StudioOptions = { config: Config; environment: NodeJS.ProcessEnv; port: string; browser?: string };

const projectFolder = join(import.meta.dirname, '..', '..');

/**
 * Runs Prisma Studio until a signal stops it. An embedded PostgreSQL keeps running until then.
 * @throws {OperationalError} if it cannot start, or ends on its own with a failure
 */
export const openStudio = async ({ config, environment, port, browser }: StudioOptions): Promise<void> => {
  const prisma = join(projectFolder, 'node_modules', 'prisma', 'build', 'index.js');
  if (!existsSync(prisma))
    throw new OperationalError(
      'Prisma Studio is a development package and not installed here. With Docker: docker compose --profile studio up',
    );
  await assertPortFree(Number(port));
  const lease = await leaseDatabaseToUse(config);
  const options = ['studio', '--port', port, ...(browser ? ['--browser', browser] : [])];
  // prisma.config.ts reads DATABASE_URL. Other users could see a URL on the command line.
  const env = { ...environment, DATABASE_URL: lease.url, CHECKPOINT_DISABLE: '1' };
  const studio = spawn(process.execPath, [prisma, ...options], { cwd: projectFolder, env, stdio: 'inherit' });
  let stopping = false;
  for (const stopSignal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(stopSignal, () => {
      stopping = true;
      studio.kill(stopSignal);
    });
  }
  const [code, signal] = await once(studio, 'exit').finally(lease.release);
  if (code !== 0 && !stopping) throw new OperationalError(`Prisma Studio ended with ${signal ?? `exit code ${code}`}.`);
};

/** If its port is in use, Prisma Studio itself prints a stack trace. */
const assertPortFree = async (port: number) => {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new OperationalError(`Prisma Studio cannot listen: ${(error as Error).message}. Choose another --port.`);
  }
  await once(server.close(), 'close');
};
