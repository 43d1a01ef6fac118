import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer } from '../../src/embedded-postgres/cluster.ts';
import { findServerAccount } from '../../src/embedded-postgres/server-account.ts';

/** Makes a folder that the account of the embedded PostgreSQL can read, even if root runs the tests. */
export const makeTemporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-test-'));
  chmodSync(folder, 0o755);
  return folder;
};

/** Removes a data folder, and stops an embedded PostgreSQL that a killed process left running in it. */
export const removeDataFolder = (folder: string): void => {
  const directory = join(folder, 'postgres');
  const server = findServer(directory, findServerAccount(directory));
  if (server) process.kill(Number(server.pid), 'SIGQUIT');
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
};
