import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { sessionUrl } from '../database/database-url.ts';
import { freePort } from '../embedded-postgres/cluster.ts';
import { OperationalError } from '../errors.ts';
import { interruptible } from './stop-signal.ts';
import { projectFolder, withPrisma, withSession } from './with-database.ts';

type StudioOptions = { config: Config; environment: NodeJS.ProcessEnv; port: string; browser?: string };

/**
 * Runs Prisma Studio until a signal stops it. An embedded PostgreSQL keeps running until then.
 * @throws {OperationalError} if it cannot start, or ends on its own with a failure
 */
export const openStudio = async ({ config, environment, port, ...options }: StudioOptions): Promise<void> => {
  const prisma = join(projectFolder, 'node_modules', 'prisma', 'build', 'index.js');
  if (!existsSync(prisma))
    throw new OperationalError(
      'Prisma Studio is a development package and not installed here. With Docker: docker compose --profile studio up',
    );
  // Prisma Studio would print a stack trace if its port is in use.
  await freePort(Number(port)).catch((error) => {
    throw new OperationalError(`Prisma Studio cannot listen: ${error.message}. Choose another --port.`);
  });
  const runStudio = async (signal: AbortSignal, url: string) => {
    // prisma.config.ts reads DATABASE_URL. Other users could see a URL on the command line.
    const env = { ...environment, DATABASE_URL: sessionUrl(url), CHECKPOINT_DISABLE: '1' };
    const browser = options.browser ?? (hasBrowser(environment) ? undefined : 'none');
    const words = [prisma, 'studio', '--port', port, ...(browser ? ['--browser', browser] : [])];
    const studio = spawn(process.execPath, words, { cwd: projectFolder, env, stdio: ['ignore', 'inherit', 'inherit'] });
    signal.addEventListener('abort', () => studio.kill());
    const [code, endedBy] = await once(studio, 'exit');
    if (code !== 0 && !signal.aborted)
      throw new OperationalError(
        `Prisma Studio ended with ${endedBy ?? `exit code ${code}`}. If it cannot start the browser, add --browser none.`,
      );
  };
  await withSession(config, async (url) => {
    // Prisma Studio itself starts without a word if it cannot reach the database.
    await withPrisma(url, async () => {});
    await interruptible((signal) => runStudio(signal, url));
  });
};

/** Whether Prisma Studio can open its page. Otherwise, as on most servers, it would end with a stack trace. */
const hasBrowser = ({ BROWSER, PATH = '' }: NodeJS.ProcessEnv) =>
  Boolean(BROWSER) ||
  process.platform === 'darwin' ||
  PATH.split(delimiter).some((folder) => existsSync(join(folder, 'xdg-open')));
