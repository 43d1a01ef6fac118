import { setTimeout } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestService } from '../support/use-test-service.ts';

/** How long clients send, in ms. */
const DURATION = 8000;

const folder = useDataFolder();
/** Its database and token. The store is a process of its own, so that the clients do not slow it down. */
const service = useTestService();
const CONNECTIONS = 10;
/** In seconds. */
const REQUEST_TIMEOUT = 3;
const STATEMENT_TIMEOUT = (REQUEST_TIMEOUT * 3) / 5;
let url: string;
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  ({ url } = await startStore({
    DATA_DIR: folder.path,
    DATABASE_URL: service.database.url,
    DATABASE_CONNECTIONS: String(CONNECTIONS),
    REQUEST_TIMEOUT: String(REQUEST_TIMEOUT),
  }));
});

let nextId = 1000;
const send = async (path: string, body?: string) => {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
    ...(body && { body }),
  });
  await response.text();
  return response.status;
};
const post = (name: string) => send('/plants', `{"id":${nextId++},"name":"${name}"}`);

/** Calls `use` with so many clients, again and again, for DURATION. @returns the longest time of a call, in ms */
const repeat = async (clients: number, use: () => Promise<unknown>): Promise<number> => {
  const end = performance.now() + DURATION;
  let longest = 0;
  const client = async () => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      await use();
      longest = Math.max(longest, performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return longest;
};

const print = (text: string) => process.stderr.write(`\n${text}\n`);

test('searches in long names end after their timeout, and take no more connections than there are', async () => {
  await service.database.query("INSERT INTO plants SELECT id, repeat('x', 1000000) FROM generate_series(1, 60) AS id");
  const searching = `SELECT extract(epoch FROM clock_timestamp() - query_start) AS age FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND query LIKE '%ILIKE%' AND pid <> pg_backend_pid()`;
  let most = 0;
  let oldest = 0;
  const statuses = new Map<number, number>();
  const watch = repeat(1, async () => {
    const found = await service.database.query(searching);
    most = Math.max(most, found.length);
    oldest = Math.max(oldest, ...found.map(({ age }) => Number(age)));
    await setTimeout(50);
  });
  const others = repeat(1, async () => expect(await post('Fir')).toBe(200));
  await repeat(16, async () => {
    const status = await send(`/plants?q=${'x'.repeat(99)}y`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  await watch;
  const longest = await others;
  print(
    `16 clients search 60 names of 1 MB: at most ${most} statements at once, the longest ${oldest.toFixed(1)} s ` +
      `(statement_timeout ${STATEMENT_TIMEOUT} s); longest POST of others ${Math.round(longest)} ms; ` +
      `statuses ${JSON.stringify(Object.fromEntries(statuses))}`,
  );
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(CONNECTIONS);
  // PostgreSQL notices the timeout between two rows.
  expect(oldest).toBeLessThan(STATEMENT_TIMEOUT + 3);
});

test('POSTs of long names delay others only for a short time', async () => {
  const long = 'x'.repeat(800_000);
  const others = repeat(1, async () => expect(await post('Fir')).toBe(200));
  let stored = 0;
  await repeat(8, async () => {
    if ((await post(long)) === 200) stored += 1;
  });
  const longest = await others;
  print(
    `8 clients POST names of 800 KB, ${stored} in ${DURATION} ms: longest POST of others ${Math.round(longest)} ms`,
  );
  expect(stored).toBeGreaterThan(0);
  expect(longest).toBeLessThan(5000);
});

test('a body with one string of 1 MB blocks the event loop only for a short time', async () => {
  const long = 'x'.repeat(1_000_000);
  const idle = await repeat(1, async () => expect(await send('/livez')).toBe(200));
  const others = repeat(1, async () => expect(await send('/livez')).toBe(200));
  await repeat(1, () => post(long));
  print(
    `a client POSTs names of 1 MB: longest GET /livez ${Math.round(await others)} ms, ${Math.round(idle)} ms without`,
  );
  expect(await others).toBeLessThan(2000);
});
