import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder that the account of the embedded PostgreSQL can reach, also where root runs the tests. */
export const makeTemporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-test-'));
  chmodSync(folder, 0o755);
  return folder;
};
