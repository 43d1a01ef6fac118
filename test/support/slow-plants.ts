import { Client } from 'pg';
import { onCitus } from './skip.ts';
import type { TestDatabase } from './test-database.ts';
import { waitUntil } from './wait-until.ts';

export const slowReadsObstacle = onCitus('no view can take the place of plants');

/**
 * Inserts the plant 100, named "slow" with the tag "x", that PostgreSQL cannot read until the returned function is called.
 * Plants with smaller ids can be read.
 */
export const blockReadsOfPlant100 = async ({ url, query }: TestDatabase): Promise<() => Promise<void>> => {
  await query(`
    INSERT INTO plants VALUES (100, 'slow', 'x');
    ALTER TABLE plants RENAME TO stored;
    CREATE VIEW plants AS SELECT * FROM stored WHERE id < 100 OR pg_advisory_lock_shared(1) IS NOT NULL`);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock(1)');
  return () => client.end();
};

/** Waits until a statement reads that plant. */
export const waitForBlockedRead = ({ query }: TestDatabase): Promise<void> =>
  waitUntil('a read of the plant 100', async () => {
    const rows = await query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
    );
    return rows.length > 0;
  });
