import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { OperationalError } from '../errors.ts';
import { createCluster, loadBinaries } from './cluster.ts';
import { assertReachable, findServerAccount } from './server-account.ts';

/** How long to wait while another process starts or stops the server, in ms. */
const LOCK_TIMEOUT = 90_000;
const LOCK_POLL_INTERVAL = 50;

export type DatabaseLease = { url: string; release: () => Promise<void> };

/**
 * The PostgreSQL server in `dataDir`, shared by the service, other commands and Prisma Studio. The first process to
 * lease it starts it, the last to release it stops it. A server that a killed process left running is reused.
 *
 * Each process holds a shared lock on a file, and an exclusive one while it starts or stops the server.
 * @throws {OperationalError} if PostgreSQL cannot run here
 */
export const leaseEmbeddedPostgres = async (dataDir: string, walLevel = 'replica'): Promise<DatabaseLease> => {
  const binaries = await loadBinaries();
  const isNew = mkdirSync(dataDir, { recursive: true }) !== undefined;
  const account = findServerAccount(join(dataDir, 'postgres'));
  // The account must enter it, whatever the umask of root.
  if (isNew && account) chmodSync(dataDir, 0o711);
  assertReachable(binaries.postgres, account);
  assertReachable(join(dataDir, 'postgres'), account);
  const cluster = createCluster({ dataDir, binaries, account, walLevel });
  const lockFile = join(dataDir, 'postgres.lock');

  const release = async (unlock: () => void) => {
    unlock();
    let lastUnlock = tryLock(lockFile, 'exclusive');
    if (!lastUnlock) {
      // Two processes that release it at the same moment can be in each other's way.
      await setTimeout(Math.random() * LOCK_POLL_INTERVAL);
      lastUnlock = tryLock(lockFile, 'exclusive');
    }
    if (lastUnlock) await cluster.stop().finally(lastUnlock);
  };

  for (let waited = 0; waited < LOCK_TIMEOUT; waited += LOCK_POLL_INTERVAL) {
    const unlockAfterStart = tryLock(lockFile, 'exclusive');
    if (unlockAfterStart) await cluster.start().finally(unlockAfterStart);
    const unlock = tryLock(lockFile, 'shared');
    const url = unlock && (await cluster.runningUrl());
    // Another process may have stopped the server between the two locks; if so, try again.
    if (unlock && url) return { url, release: () => release(unlock) };
    unlock?.();
    await setTimeout(LOCK_POLL_INTERVAL);
  }
  throw new OperationalError(
    `Timed out while another process starts or stops PostgreSQL in ${dataDir}, or uses one that has ended: stop that process and try again.`,
  );
};

/** https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

/**
 * Takes an advisory lock on a file, which is created if necessary. The operating system releases it when the process
 * ends, even if it is killed, so there are no stale locks, unlike with pid files. Node.js has no flock, but its SQLite locks
 * files (https://sqlite.org/lockingv3.html).
 * @returns a function that releases the lock, or undefined if another process holds a conflicting one
 * @throws {OperationalError} if this user cannot write the file
 */
const tryLock = (path: string, mode: 'shared' | 'exclusive'): (() => void) | undefined => {
  let file: DatabaseSync | undefined;
  try {
    // Not by an import, because Node.js 22 lacks it, or warns of it.
    file = new (process.getBuiltinModule('node:sqlite').DatabaseSync)(path);
    // The first read takes the shared lock, not BEGIN.
    file.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT count(*) FROM sqlite_schema');
    return () => file?.close();
  } catch (error) {
    file?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === SQLITE_BUSY) return undefined;
    throw new OperationalError(
      `${path} cannot be locked: ${message}. Does the folder belong to another user, or is its disk full?`,
    );
  }
};
