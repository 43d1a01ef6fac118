import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../embedded-postgres/file-lock.ts';

/** A store runs on this data folder already. */
export class StoreRunsError extends Error {
  override name = 'StoreRunsError';
}

/**
 * Makes this process the one store on a data folder, for as long as the result is held.
 * @throws {StoreRunsError} saying where the other one listens
 */
export const lockStore = (dataFolder: string) => {
  mkdirSync(dataFolder, { recursive: true });
  const noteFile = join(dataFolder, 'store.json');
  const unlock = tryLock(join(dataFolder, 'store.lock'), 'exclusive');
  if (unlock === undefined) {
    throw new StoreRunsError(
      `The store already runs ${whereabouts(noteFile)}, with its data in ${dataFolder}. ` +
        'Stop it first, or set DATA_DIR and PORT to run a second one.',
    );
  }
  rmSync(noteFile, { force: true });
  return {
    unlock,
    /** Lets a second start say where this one listens. */
    note: (url: string) => writeFileSync(noteFile, JSON.stringify({ pid: process.pid, url })),
  };
};

const whereabouts = (noteFile: string) => {
  if (!existsSync(noteFile)) return 'and is just starting';
  const { pid, url } = JSON.parse(readFileSync(noteFile, 'utf8')) as { pid: number; url: string };
  return `on ${url} (process ${pid})`;
};
