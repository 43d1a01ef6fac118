/**
 * A page by node-postgres alone: a pool of 10, prepared by name, no HTTP and no Prisma. The parent process sends the
 * pages and by which statement to read them, then a load at a time, and is answered with what came of it.
 */
import { join } from 'node:path';
import pg from 'pg';
import type { LoadResult } from '../load.ts';
import type { PagesMessage, PgLoad, PgStatement } from '../pg-pages.ts';
import { PAGE_LIMIT, type Page } from '../read.ts';
import { storeRoot } from '../store.ts';

type Query = { name: string; text: string; values: unknown[] };
/** How to read a page, and the last id in what comes back. */
type Statement = {
  queryFor: (page: Page) => Promise<Query> | Query;
  lastIdIn: (rows: pg.QueryResult['rows']) => string | undefined;
};

const { Prisma }: typeof import('../../src/generated/prisma/client.ts') = await import(
  join(storeRoot, 'src', 'generated', 'prisma', 'client.ts')
);
const { createPlantRepository }: typeof import('../../src/plants/plant-repository.ts') = await import(
  join(storeRoot, 'src', 'plants', 'plant-repository.ts')
);

/** What the store's repository asks of its database for a page, taken down instead of sent. */
const storeQuery = async ({ after }: Page): Promise<Query> => {
  const recorded: Query[] = [];
  const $queryRaw = async (strings: readonly string[], ...values: never[]) => {
    const sql = Prisma.sql(strings, ...values);
    recorded.push({ name: 'page', text: sql.text, values: sql.values });
    return [{ ids: null, names: null, tags: null }];
  };
  const database = { $queryRaw } as unknown as Parameters<typeof createPlantRepository>[0]['database'];
  await createPlantRepository({ database }).list([{ limit: PAGE_LIMIT, after: BigInt(after) }]);
  const [query] = recorded;
  if (query === undefined || recorded.length > 1) throw new Error('the repository asks more than one query for a page');
  return query;
};

/** One plant more than the page has, as the store asks for it too, to know whether another page follows. */
const PLAIN_SELECT = `SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT ${PAGE_LIMIT + 1}`;

const statements: Record<PgStatement, Statement> = {
  plain: {
    queryFor: ({ after }) => ({ name: 'page', text: PLAIN_SELECT, values: [after] }),
    lastIdIn: (rows) => rows[PAGE_LIMIT - 1]?.id,
  },
  store: { queryFor: storeQuery, lastIdIn: ([row]) => row?.ids?.split(',')[PAGE_LIMIT - 1] },
};

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

type Measured = { query: Query; lastId: string | undefined };

const run = async (
  { connections, seconds }: PgLoad,
  measured: Measured[],
  { lastIdIn }: Statement,
): Promise<LoadResult> => {
  const times: number[] = [];
  let wrong = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  const readPages = async () => {
    for (let sentAt = startedAt; sentAt < end; ) {
      const { query, lastId } = measured[Math.floor(Math.random() * measured.length)] as Measured;
      const { rows } = await pool.query(query);
      const answeredAt = performance.now();
      if (lastIdIn(rows) === lastId) times.push(answeredAt - sentAt);
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

let statement = statements.plain;
let measured: Measured[] = [];
process.on('message', async (message: PagesMessage | { load: PgLoad }) => {
  if ('pages' in message) {
    statement = statements[message.statement];
    const measure = async (page: Page) => ({ query: await statement.queryFor(page), lastId: page.ids.at(-1) });
    // The last page may have fewer plants.
    measured = await Promise.all(message.pages.filter(({ ids }) => ids.length === PAGE_LIMIT).map(measure));
    process.send?.('ready');
  } else process.send?.(await run(message.load, measured, statement));
});
process.on('disconnect', () => pool.end());
