import { setTimeout } from 'node:timers/promises';
import type { TestDatabase } from '../test-database.ts';
import { waitUntil } from '../wait-until.ts';
import type { Plant } from './requests.ts';

/** How often in a row the store must be found idle, and the time between, in ms. */
const IDLE_POLLS = 5;
const POLL_PAUSE = 1;

/** Makes the store contain these plants, and no kept answers. */
export const fillTables = async ({ query }: TestDatabase, plants: Readonly<Record<string, Plant>>): Promise<void> => {
  await query('DELETE FROM idempotency_keys');
  await query('DELETE FROM plants');
  // A request whose client has left may store its plant in between.
  const insert = 'INSERT INTO plants VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET name = $2, tag = $3';
  for (const [id, { name, tag }] of Object.entries(plants)) await query(insert, [id, name, tag ?? null]);
};

export const readTable = async ({ query }: TestDatabase): Promise<Map<string, Plant>> => {
  const rows = await query('SELECT id, name, tag FROM plants');
  const plants = new Map<string, Plant>();
  for (const { id, name, tag } of rows as { id: string; name: string; tag: string | null }[]) {
    if (plants.has(id)) throw new Error(`two plants have the id ${id}`);
    plants.set(id, tag === null ? { name } : { name, tag });
  }
  return plants;
};

export const expireKeys = ({ query }: TestDatabase) =>
  query("UPDATE idempotency_keys SET expires_at = now() - interval '1 second'");

/** Waits until no session works, or begins: those have no state or no database yet. Not seen: what is about to get one. */
export const waitUntilIdle = ({ query }: TestDatabase): Promise<void> =>
  waitUntil('an idle store', async () => {
    for (let poll = 0; poll < IDLE_POLLS; poll++) {
      const busy = await query(
        `SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
           AND coalesce(datname, current_database()) = current_database() AND state IS DISTINCT FROM 'idle'`,
      );
      if (busy.length > 0) return false;
      await setTimeout(POLL_PAUSE);
    }
    return true;
  });
