import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { OperationalError } from '../operational-error.ts';
import { loadBinaries } from './binaries.ts';
import { createCluster } from './cluster.ts';
import { tryLock } from './file-lock.ts';
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
  throw new OperationalError(`Timed out while another process starts or stops PostgreSQL in ${dataDir}.`);
};
