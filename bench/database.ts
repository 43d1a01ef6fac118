/** The PostgreSQL server of a run: that of `DATABASE_URL`, or the embedded one, on a folder of this run alone. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leaseEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts';

export type Database = { url: string; embedded: boolean; stop: () => Promise<void> };

/** @throws {EmbeddedPostgresError} where the embedded one does not start */
export const startDatabase = async (): Promise<Database> => {
  const url = process.env.DATABASE_URL;
  if (url) return { url, embedded: false, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
  // PostgreSQL runs as another account where this is root.
  await chmod(folder, 0o755);
  const lease = await leaseEmbeddedPostgres(folder);
  const stop = async () => {
    await lease.release();
    await rm(folder, { recursive: true });
  };
  return { url: lease.url, embedded: true, stop };
};
