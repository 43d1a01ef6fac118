import { afterEach, beforeEach, expect } from '@jest/globals';
import { followChanges } from '../../src/changes/follow-changes.ts';
import { createSlot, dropSlot } from '../../src/changes/slot.ts';
import { retryConnecting } from './test-service.ts';
import { useChanges } from './use-changes.ts';
import { waitUntil } from './wait-until.ts';

export const SLOT = 'changes_test';
const ACTIVE = 'SELECT FROM pg_replication_slots WHERE active';

/**
 * A new slot for each test, followed in this process, and an empty table. On a server of its own: the shared one does not log what
 * this needs, and a slot waits for the transactions of all databases.
 */
export const useSlot = () => {
  const server = useChanges();
  const query = (sql: string) => server.postgres.query(sql);
  const create = () => retryConnecting(() => createSlot(server.postgres.url, SLOT));
  const drop = () => retryConnecting(() => dropSlot(server.postgres.url, SLOT));

  beforeEach(async () => {
    expect(await create()).toBe(true);
  });
  afterEach(async () => {
    await drop();
    await query('TRUNCATE plants');
  });

  /** PostgreSQL ends its side a moment after a reader, and only then may another one follow the slot. */
  const slotIsFree = () => waitUntil('a free slot', async () => (await query(ACTIVE)).length === 0);

  /** Follows the slot. `write`: what happens to lines before they count as written; `sync`: to those that are, before they are confirmed. */
  const follow = (write = async () => {}, sync = async () => {}, url = server.postgres.url) => {
    const ending = new AbortController();
    const read = { lines: [] as Record<string, unknown>[], confirmations: 0 };
    const ended = followChanges(url, SLOT, {
      write: async (text) => {
        await write();
        for (const line of text.trimEnd().split('\n')) {
          const { committedAt: _at, position: _position, ...rest } = JSON.parse(line);
          read.lines.push(rest);
        }
      },
      sync: async () => {
        if (read.lines.length > 0) await sync();
        read.confirmations += 1;
      },
      signal: ending.signal,
    });
    ended.catch(() => {});
    const end = async () => {
      ending.abort();
      await ended;
      await slotIsFree();
    };
    return { read, ended, end };
  };

  /** Follows the slot until so many lines came. */
  const readLines = async (count: number) => {
    const { read, ended, end } = follow();
    const came = waitUntil('the lines', () => read.lines.length >= count, { explain: () => String(read.lines.length) });
    await Promise.race([came, ended]).finally(end);
    return read.lines;
  };

  return { server, query, create, drop, slotIsFree, follow, readLines };
};
