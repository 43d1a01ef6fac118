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
    const note = existsSync(noteFile) ? JSON.parse(readFileSync(noteFile, 'utf8')) : undefined;
    throw new OperationalError(
      `Plant Store already runs ${note ? `on ${note.url} (process ${note.pid})` : 'and is still starting'}, with its data in ${dataFolder}. ` +
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
