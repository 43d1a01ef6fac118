/** The store as it ships: its own commands migrate the database, create a token and start the server. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BenchError } from './bench-error.ts';
import { runCommand } from './command.ts';
import type { ServerCommand } from './server.ts';

const root = resolve(process.env.PLANT_STORE_ROOT || join(import.meta.dirname, '..', '..'));

const readManifest = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

export const storeVersion = (): string => (existsSync(join(root, 'package.json')) ? readManifest().version : 'missing');

export type PreparedStore = {
  command: ServerCommand;
  token: string;
  /** `plant-store import` of a file. Returns its summary as JSON. @throws {BenchError} unless every row is stored */
  importFile: (file: string) => Promise<string>;
};

/**
 * Migrates the database and creates a token.
 * @throws {BenchError} if the store is missing or one of its commands fails
 */
export const prepareStore = async (databaseUrl: string, signal: AbortSignal): Promise<PreparedStore> => {
  const script = join(root, 'bin', 'plant-store.js');
  if (!existsSync(script)) throw new BenchError(`${script} does not exist`);
  const env = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' };
  const run = (...args: string[]) =>
    runCommand({ file: process.execPath, args: [script, ...args], cwd: root, env: { ...process.env, ...env }, signal });
  await run('migrate');
  const token = await run('token', 'create', '--name', 'bench');
  const importFile = (file: string) => run('import', file, '--json');
  return { command: { args: [script, 'serve'], cwd: root, env }, token: token.trim(), importFile };
};
