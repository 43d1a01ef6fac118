import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { freePort } from '../embedded-postgres/free-port.ts';
import { OperationalError } from '../operational-error.ts';
import { print } from './output.ts';
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
  // Prisma Studio would print a stack trace if its port is in use.
  await freePort(Number(port)).catch((error) => {
    throw new OperationalError(`Prisma Studio cannot listen: ${error.message}. Choose another --port.`);
  });
  const page = `http://localhost:${port}/${PLANTS}`;
  const runStudio = async (signal: AbortSignal, url: string) => {
    // prisma.config.ts reads DATABASE_URL. Other users could see a URL on the command line.
    const env = { ...environment, DATABASE_URL: url, CHECKPOINT_DISABLE: '1' };
    const words = [prisma, 'studio', '--port', port, '--browser', 'none'];
    const studio = spawn(process.execPath, words, { cwd: projectFolder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    signal.addEventListener('abort', () => studio.kill());
    studio.stdout.on('data', (text) => {
      if (!String(text).includes('is running at')) return;
      print(`Prisma Studio shows the plants on ${page}\n`).catch(() => {});
      if (browser !== 'none') openPage(page, browser);
    });
    const [code, endedBy] = await once(studio, 'exit');
    if (code !== 0 && !signal.aborted)
      throw new OperationalError(`Prisma Studio ended with ${endedBy ?? `exit code ${code}`}.`);
  };
  await withSession(config, (url) => interruptible((signal) => runStudio(signal, url)));
};

/** By default, Prisma Studio opens its first table, which is that of the migrations. */
const PLANTS = '#schema=public&view=table&table=plants';

/** Does nothing if the browser cannot be started: its address is printed. */
const openPage = (url: string, browser: string | undefined) => {
  const [program = '', ...options] =
    process.platform === 'darwin' ? ['open', ...(browser ? ['-a', browser] : [])] : [browser ?? 'xdg-open'];
  const child = spawn(program, [...options, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
};
