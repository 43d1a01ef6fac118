/** The store of a checkout as it ships: its own commands migrate a database, create a token and start the server. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BenchError, runCommand } from '../command.ts';
import { createDatabase } from '../database/database.ts';
import { openPlantsTable } from '../database/plants-table.ts';
import type { Target } from '../load/load.ts';
import { type Server, startServer } from './server.ts';

/** The store of a checkout, with a database of its own. */
export type Store = Target<Server> & {
  /** What is checked out. */
  commit: string;
  databaseUrl: string;
  /** Runs a command of the store and returns what it printed. */
  run: (...args: string[]) => Promise<string>;
};

type OpenStore = { id: 'store' | 'other'; root: string; serverUrl: string; folder: string; signal: AbortSignal };

/**
 * Creates and migrates the database, which `stack` drops.
 * @throws {BenchError} if the store is missing or one of its commands fails
 */
export const openStore = async (settings: OpenStore, stack: AsyncDisposableStack): Promise<Store> => {
  const { id, root, serverUrl, folder, signal } = settings;
  const script = join(root, 'bin', 'plant-store.js');
  if (!existsSync(script)) throw new BenchError(`${script} does not exist`);
  const databaseUrl = await createDatabase(serverUrl, id, stack);
  const env = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' };
  const run = (...args: string[]) =>
    runCommand({ file: process.execPath, args: [script, ...args], cwd: root, env, signal });
  await run('migrate');
  const token = (await run('token', 'create', '--name', 'bench')).trim();
  const commit = await commitOf(root);
  return {
    id,
    title: id === 'store' ? 'Plant Store' : `Plant Store ${commit}`,
    // After the migrations, so that the table knows the store's indexes.
    table: await openPlantsTable(databaseUrl, stack),
    indexes: 'all',
    open: () => startServer({ args: [script, 'serve'], cwd: root, env, token, folder, signal }),
    commit,
    databaseUrl,
    run,
  };
};

const commitOf = (root: string) =>
  runCommand({ file: 'git', args: ['describe', '--always', '--dirty'], cwd: root }).then(
    (printed) => printed.trim(),
    () => basename(root),
  );
