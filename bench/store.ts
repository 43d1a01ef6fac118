/** The store as a target: exactly as shipped, migrated and given a token by its own commands. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BenchError } from './bench-error.ts';
import { runCommand } from './command.ts';
import type { ServerCommand } from './server.ts';

export const storeRoot = resolve(process.env.PLANT_STORE_ROOT || join(import.meta.dirname, '..'));

const readManifest = () => JSON.parse(readFileSync(join(storeRoot, 'package.json'), 'utf8'));

export const storeVersion = (): string | undefined =>
  existsSync(join(storeRoot, 'package.json')) ? readManifest().version : undefined;

/** What `npm start` tells Node.js; the image tells it the same. */
const nodeOptions = (): string[] => readManifest().scripts.start.match(/--\S+/g) ?? [];

/**
 * Migrates the database and makes a token.
 * @throws {BenchError} where the store is not there, or one of its commands fails
 */
export const prepareStore = async (
  databaseUrl: string,
  signal: AbortSignal,
): Promise<{ command: ServerCommand; token: string }> => {
  const main = join(storeRoot, 'src', 'main.ts');
  if (!existsSync(main)) throw new BenchError(`there is no ${join('src', 'main.ts')} in the project's folder`);
  const environment = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' };
  const run = async (...args: string[]) => {
    const env = { ...process.env, ...environment };
    const { stdout } = await runCommand({ file: process.execPath, args: [main, ...args], cwd: storeRoot, env, signal });
    return stdout.trim();
  };
  await run('migrate');
  const token = await run('token', 'create', '--name', 'bench');
  return { command: { args: [...nodeOptions(), main, 'serve'], cwd: storeRoot, env: environment }, token };
};
