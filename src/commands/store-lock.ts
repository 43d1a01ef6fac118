import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../embedded-postgres/file-lock.ts';
import { OperationalError } from '../operational-error.ts';

/**
 * Locks a data folder, so that only one service at a time uses it.
 * @throws {OperationalError} with the URL of the service that already uses it
 */
export const lockStore = (dataFolder: string) => {
  mkdirSync(dataFolder, { recursive: true });
  const noteFile = join(dataFolder, 'store.json');
  const unlock = tryLock(join(dataFolder, 'store.lock'), 'exclusive');
  if (unlock === undefined) {
    throw new OperationalError(
      `Plant Store already runs ${whereabouts(noteFile)}, with its data in ${dataFolder}. ` +
        'Stop it first, or set DATA_DIR and PORT to run a second one.',
    );
  }
  rmSync(noteFile, { force: true });
  return {
    unlock,
    /** Saves the URL for the error message of a second start. */
    note: (url: string) => writeFileSync(noteFile, JSON.stringify({ pid: process.pid, url })),
  };
};

const whereabouts = (noteFile: string) => {
  if (!existsSync(noteFile)) return 'and is still starting';
  const { pid, url } = JSON.parse(readFileSync(noteFile, 'utf8')) as { pid: number; url: string };
  return `on ${url} (process ${pid})`;
};
