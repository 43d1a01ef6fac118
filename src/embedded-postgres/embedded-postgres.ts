import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { loadBinaries } from './binaries.ts';
import { createCluster } from './cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { tryLock } from './file-lock.ts';
import { assertReachable, findServerAccount } from './server-account.ts';

/** How long to wait for another process that is starting or stopping the server, in ms. */
const LOCK_TIMEOUT = 90_000;
const LOCK_POLL_INTERVAL = 50;

export type DatabaseLease = { url: string; release: () => Promise<void> };

/**
 * The PostgreSQL server in `dataDir`, shared by the store, the command line and Prisma Studio: whoever comes first
 * starts it, whoever leaves last stops it. One that is left running by a process that was killed is used as it is.
 *
 * Each user holds a shared lock on a file; who starts or stops the server holds it exclusively.
 * @throws {EmbeddedPostgresError} where PostgreSQL cannot run here
 */
export const leaseEmbeddedPostgres = async (dataDir: string): Promise<DatabaseLease> => {
  const binaries = await loadBinaries();
  mkdirSync(dataDir, { recursive: true });
  const account = findServerAccount(join(dataDir, 'postgres'));
  assertReachable(binaries.postgres, account);
  assertReachable(join(dataDir, 'postgres'), account);
  const cluster = createCluster({ dataDir, binaries, account });
  const lockFile = join(dataDir, 'postgres.lock');

  const release = async (unlock: () => void) => {
    unlock();
    const lastUnlock = tryLock(lockFile, 'exclusive');
    if (lastUnlock === undefined) return;
    await cluster.stop().finally(lastUnlock);
  };

  for (let waited = 0; waited < LOCK_TIMEOUT; waited += LOCK_POLL_INTERVAL) {
    const unlockAfterStart = tryLock(lockFile, 'exclusive');
    if (unlockAfterStart) {
      try {
        if ((await cluster.runningUrl()) === undefined) await cluster.start();
      } finally {
        unlockAfterStart();
      }
    }
    const unlock = tryLock(lockFile, 'shared');
    const url = unlock && (await cluster.runningUrl());
    // Between the two locks the last user may have stopped the server: then it is started anew.
    if (unlock && url) return { url, release: () => release(unlock) };
    unlock?.();
    await setTimeout(LOCK_POLL_INTERVAL);
  }
  throw new EmbeddedPostgresError(
    `Another process has been starting or stopping PostgreSQL in ${dataDir} for too long.`,
  );
};
