import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { freePort } from '../embedded-postgres/free-port.ts';
import { OperationalError } from '../operational-error.ts';
import { interruptible } from './stop-signal.ts';
import { projectFolder, withSession } from './with-database.ts';

type StudioOptions = { config: Config; environment: NodeJS.ProcessEnv; port: string; browser?: string };

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
  // If its port is in use, Prisma Studio itself prints a stack trace.
  await freePort(Number(port)).catch((error) => {
    throw new OperationalError(`Prisma Studio cannot listen: ${error.message}. Choose another --port.`);
  });
  const options = ['studio', '--port', port, ...(browser ? ['--browser', browser] : [])];
  const runStudio = async (signal: AbortSignal, url: string) => {
    // prisma.config.ts reads DATABASE_URL. Other users could see a URL on the command line.
    const env = { ...environment, DATABASE_URL: url, CHECKPOINT_DISABLE: '1' };
    const studio = spawn(process.execPath, [prisma, ...options], { cwd: projectFolder, env, stdio: 'inherit' });
    signal.addEventListener('abort', () => studio.kill());
    const [code, endedBy] = await once(studio, 'exit');
    if (code !== 0 && !signal.aborted)
      throw new OperationalError(`Prisma Studio ended with ${endedBy ?? `exit code ${code}`}.`);
  };
  await withSession(config, (url) => interruptible((signal) => runStudio(signal, url)));
};
