import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../embedded-postgres/file-lock.ts';

/** A store runs on this data folder already. */
export class StoreRunsError extends Error {
  override name = 'StoreRunsError';
}

/**
 * Makes this process the one store on a data folder; `url` is where it will listen.
 * @returns a function that ends that; as long as it can be called, the lock is held
 * @throws {StoreRunsError} saying where the other one listens
 */
export const lockStore = (dataFolder: string, url: string): (() => void) => {
  mkdirSync(dataFolder, { recursive: true });
  const noteFile = join(dataFolder, 'store.json');
  const unlock = tryLock(join(dataFolder, 'store.lock'), 'exclusive');
  if (unlock) {
    writeFileSync(noteFile, JSON.stringify({ pid: process.pid, url }));
    return unlock;
  }
  const { pid, url: otherUrl } = JSON.parse(readFileSync(noteFile, 'utf8')) as { pid: number; url: string };
  throw new StoreRunsError(
    `The store already runs on ${otherUrl} (process ${pid}), with its data in ${dataFolder}. ` +
      'Stop it first, or set DATA_DIR and PORT to run a second one.',
  );
};
