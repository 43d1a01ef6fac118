/**
 * The store's own statement for a page, through node-postgres alone: a pool of 10, prepared by name, no HTTP and no
 * Prisma. The parent process sends the pages, then a load at a time, and is answered with what came of it.
 */
import { join } from 'node:path';
import pg from 'pg';
import type { LoadResult } from '../load.ts';
import type { PgLoad } from '../pg-pages.ts';
import { PAGE_LIMIT, type Page } from '../read.ts';
import { storeRoot } from '../store.ts';

type Query = { name: string; text: string; values: unknown[]; lastId: string | undefined };

const { Prisma }: typeof import('../../src/generated/prisma/client.ts') = await import(
  join(storeRoot, 'src', 'generated', 'prisma', 'client.ts')
);
const { createPlantRepository }: typeof import('../../src/plants/plant-repository.ts') = await import(
  join(storeRoot, 'src', 'plants', 'plant-repository.ts')
);

/** What the store's repository asks of its database for a page, taken down instead of sent. */
const recordQuery = async ({ after, ids }: Page): Promise<Query> => {
  const recorded: Query[] = [];
  const $queryRaw = async (strings: readonly string[], ...values: never[]) => {
    const sql = Prisma.sql(strings, ...values);
    recorded.push({ name: 'page', text: sql.text, values: sql.values, lastId: ids.at(-1) });
    return [{}];
  };
  const database = { $queryRaw } as unknown as Parameters<typeof createPlantRepository>[0]['database'];
  await createPlantRepository({ database }).list([{ limit: PAGE_LIMIT, after: BigInt(after) }]);
  const [query] = recorded;
  if (query === undefined || recorded.length > 1) throw new Error('the repository asks more than one query for a page');
  return query;
};

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

const run = async ({ connections, seconds }: PgLoad, queries: Query[]): Promise<LoadResult> => {
  const times: number[] = [];
  let wrong = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  const readPages = async () => {
    for (let sentAt = startedAt; sentAt < end; ) {
      const { lastId, ...query } = queries[Math.floor(Math.random() * queries.length)] as Query;
      const { rows } = await pool.query(query);
      const answeredAt = performance.now();
      if (rows[0].lastId === lastId) times.push(answeredAt - sentAt);
      else wrong += 1;
      sentAt = answeredAt;
    }
  };
  await Promise.all(Array.from({ length: connections }, readPages));
  const passed = (performance.now() - startedAt) / 1000;
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  const notOk: Record<string, number> = wrong > 0 ? { 'a wrong body': wrong } : {};
  return { ok: times.length, notOk, socketErrors: 0, seconds: passed, p50: at(0.5), p99: at(0.99) };
};

let queries: Query[] = [];
process.on('message', async (message: { pages: Page[] } | { load: PgLoad }) => {
  if ('pages' in message) {
    queries = await Promise.all(message.pages.map(recordQuery));
    process.send?.('ready');
  } else process.send?.(await run(message.load, queries));
});
process.on('disconnect', () => pool.end());
