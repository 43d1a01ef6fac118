import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer } from '../../src/embedded-postgres/cluster.ts';
import { findServerAccount } from '../../src/embedded-postgres/server-account.ts';

/** Makes a folder that the account of the embedded PostgreSQL can read, even if root runs the tests. */
export const makeTemporaryFolder = (parent = tmpdir()): string => {
  const folder = mkdtempSync(join(parent, 'plant-store-test-'));
  chmodSync(folder, 0o755);
  return folder;
};

/** Where Linux keeps files in memory. Programs may be forbidden to run from there. */
const MEMORY = '/dev/shm';
/** Far more than all tests that run at once need, in bytes. */
const ROOM = 2 ** 31;

/**
 * The same for the data of PostgreSQL, in memory if there is room: on a disk, `npm test` without Docker takes a fifth
 * longer, since a new server has a thousand files.
 */
export const makeDataFolder = (): string => makeTemporaryFolder(hasRoom(MEMORY) ? MEMORY : tmpdir());

const hasRoom = (path: string): boolean => {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
};

/** Removes a data folder, and stops an embedded PostgreSQL that a killed process left running in it. */
export const removeDataFolder = (folder: string): void => {
  const directory = join(folder, 'postgres');
  const server = findServer(directory, findServerAccount(directory));
  if (server) process.kill(Number(server.pid), 'SIGQUIT');
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
};
