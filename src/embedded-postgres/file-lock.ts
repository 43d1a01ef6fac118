import { DatabaseSync } from 'node:sqlite';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

/**
 * Takes an advisory lock on a file (which is made), or returns undefined where another process holds one that excludes
 * it. The operating system drops it when the process ends, however that happens: no stale lock is left, which a
 * file with a process id in it cannot promise. Node.js has no flock; its SQLite has (https://sqlite.org/lockingv3.html).
 * @returns a function that lets go of the lock
 * @throws {EmbeddedPostgresError} where this user may not write the file
 */
export const tryLock = (path: string, mode: 'shared' | 'exclusive'): (() => void) | undefined => {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(path);
    // A shared lock is taken by the first read, not by BEGIN.
    file.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT count(*) FROM sqlite_schema');
    return () => file?.close();
  } catch (error) {
    file?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === SQLITE_BUSY) return undefined;
    throw new EmbeddedPostgresError(`${path} cannot be locked: ${message}. Is the folder another user's?`);
  }
};
