import { DatabaseSync } from 'node:sqlite';
import { OperationalError } from '../operational-error.ts';

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

/**
 * Takes an advisory lock on a file, which is created if necessary. The operating system releases it when the process
 * ends, even if it is killed, so there are no stale locks, unlike with pid files. Node.js has no flock, but its SQLite locks
 * files (https://sqlite.org/lockingv3.html).
 * @returns a function that releases the lock, or undefined if another process holds a conflicting one
 * @throws {OperationalError} if this user cannot write the file
 */
export const tryLock = (path: string, mode: 'shared' | 'exclusive'): (() => void) | undefined => {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(path);
    // The first read takes the shared lock, not BEGIN.
    file.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT count(*) FROM sqlite_schema');
    return () => file?.close();
  } catch (error) {
    file?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === SQLITE_BUSY) return undefined;
    throw new OperationalError(`${path} cannot be locked: ${message}. Does the folder belong to another user?`);
  }
};
