/**
 * Reads pages with node-postgres alone: a pool of 10 and a named prepared statement. The parent process first sends the
 * pages and the statement to use, then one load at a time, and gets its result.
 */
import pg from 'pg';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { createPlantRepository } from '../../src/plants/plant-repository.ts';
import { type LoadResult, percentiles } from './load.ts';
import type { PgLoad, PgPages } from './pg-pages.ts';
import { PAGE_LIMIT, type Page } from './reads.ts';

type Query = { name: string; text: string; values: unknown[] };
/** How to read a page, and the last id of the rows. */
type Statement = {
  queryFor: (page: Page) => Promise<Query> | Query;
  lastIdIn: (rows: pg.QueryResult['rows']) => string | undefined;
};

/** Records the query that the store's repository sends for a page. */
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
  if (query === undefined || recorded.length > 1) throw new Error('the repository must send one query for a page');
  return query;
};

/** One more plant than the page has, like the store, to know if another page follows. */
const PLAIN_SELECT = `SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT ${PAGE_LIMIT + 1}`;

const statements: Record<PgPages['statement'], Statement> = {
  plain: {
    queryFor: ({ after }) => ({ name: 'page', text: PLAIN_SELECT, values: [after] }),
    lastIdIn: (rows) => rows[PAGE_LIMIT - 1]?.id,
  },
  store: { queryFor: storeQuery, lastIdIn: ([row]) => row?.ids?.split(',')[PAGE_LIMIT - 1] },
};

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
let statement = statements.plain;
let expected: { query: Query; lastId: string | undefined }[] = [];

const run = async ({ connections, seconds }: PgLoad): Promise<LoadResult> => {
  const times: number[] = [];
  let wrong = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  const readPages = async () => {
    for (let sentAt = startedAt; sentAt < end; ) {
      const { query, lastId } = expected[Math.floor(Math.random() * expected.length)] as (typeof expected)[number];
      const { rows } = await pool.query(query);
      const answeredAt = performance.now();
      if (statement.lastIdIn(rows) === lastId) times.push(answeredAt - sentAt);
      else wrong += 1;
      sentAt = answeredAt;
    }
  };
  await Promise.all(Array.from({ length: connections }, readPages));
  const notOk: Record<string, number> = wrong > 0 ? { 'a wrong body': wrong } : {};
  const passed = (performance.now() - startedAt) / 1000;
  return { ok: times.length, notOk, socketErrors: 0, seconds: passed, ...percentiles(times) };
};

process.on('message', async (message: PgPages | { load: PgLoad }) => {
  if ('pages' in message) {
    statement = statements[message.statement];
    const toExpected = async (page: Page) => ({ query: await statement.queryFor(page), lastId: page.ids.at(-1) });
    // The last page may have fewer plants.
    expected = await Promise.all(message.pages.filter(({ ids }) => ids.length === PAGE_LIMIT).map(toExpected));
    process.send?.('ready');
  } else process.send?.(await run(message.load));
});
process.on('disconnect', () => pool.end());
