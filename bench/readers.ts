import { BenchError, reasonOf } from './bench-error.ts';
import type { Unavailable } from './comparison.ts';
import { whole } from './format.ts';
import { openPgPages, type PgStatement } from './pg-pages.ts';
import type { PlantsTable } from './plants-table.ts';
import { say } from './progress.ts';
import { PAGE_LIMIT, type Page, type Read } from './read.ts';
import type { OpenTarget, Target } from './targets.ts';
import { type Get, verifyReads } from './verify-reads.ts';
import { walkPages } from './walk-pages.ts';

export const READ_ROWS = 100_000;
/** Of so many plants one is verified before anything is measured; of the pages, all are. */
const PLANTS_PER_VERIFIED = 20;
/** Without HTTP: the plainest way to read a page, and the store's own statement for it. */
const PG_ALONE: { id: string; title: string; statement: PgStatement }[] = [
  { id: 'pg', title: 'Plain SELECT from pg alone', statement: 'plain' },
  { id: 'pg-statement', title: 'Store statement from pg alone', statement: 'store' },
];
const FIRST_PAGE = `/plants?limit=${PAGE_LIMIT}`;

/** A target, and what is read from it. */
export type Reader = { reads: 'plants' | 'pages'; target: string; title: string; open: OpenTarget };

export type ReadSetting = {
  store: Target;
  peer: Target;
  databaseUrl: string;
  table: PlantsTable;
  signal: AbortSignal;
};

/** Starts what is compared, fills the table, and verifies the answers. What fails at it is reported as unavailable. */
export const openReaders = async (setting: ReadSetting, stack: AsyncDisposableStack) => {
  const { store, peer, databaseUrl, table, signal } = setting;
  const readers: Reader[] = [];
  const unavailable: Unavailable[] = [];
  const attempt = async ({ id, title }: Pick<Target, 'id' | 'title'>, action: () => Promise<void>) =>
    action().catch((error: unknown) => {
      signal.throwIfAborted();
      say(`${title} cannot be measured: ${reasonOf(error)}`);
      unavailable.push({ target: id, title, round: 1, reason: reasonOf(error) });
    });
  const keep = (open: OpenTarget) => stack.adopt(open, ({ stop }) => stop());

  const servers = new Map<Target, OpenTarget>();
  for (const target of [store, peer]) {
    await attempt(target, async () => void servers.set(target, keep(await target.open())));
  }
  // Now, as each server stores a plant while it starts.
  say(`Filling the table to ${whole(READ_ROWS)} rows`);
  await table.empty();
  await table.fillTo(READ_ROWS, signal);
  const ids = await table.ids();
  const pages = pagesOf(ids);
  for (const [target, open] of servers) {
    await attempt(target, async () => {
      const get = open.get as Get;
      const plantReads = ids.map((id) => ({ path: `/plants/${id}`, ids: [id] }));
      const pageReads = target === store ? await walkStore(get, ids) : pages.map(toPeerRead);
      const verified = plantReads.filter((_, index) => index % PLANTS_PER_VERIFIED === 0);
      await verifyReads({ get, reads: [...verified, ...pageReads] });
      const { id, title } = target;
      readers.push({ reads: 'plants', target: id, title, open: reading(open, plantReads) });
      readers.push({ reads: 'pages', target: id, title, open: reading(open, pageReads) });
    });
  }
  for (const { statement, ...pg } of PG_ALONE) {
    await attempt(pg, async () => {
      const open = keep(await openPgPages({ databaseUrl, pages, statement, signal }));
      readers.push({ reads: 'pages', target: pg.id, title: pg.title, open });
    });
  }
  return { readers, unavailable };
};

/** All pages but the first, which follows no id. */
const pagesOf = (ids: string[]): Page[] =>
  Array.from({ length: Math.ceil(ids.length / PAGE_LIMIT) - 1 }, (_, index) => {
    const start = (index + 1) * PAGE_LIMIT;
    return { after: ids[start - 1] as string, ids: ids.slice(start, start + PAGE_LIMIT) };
  });

/** A cursor of the store means nothing to a client, so that it is taken from the page before. */
const walkStore = async (get: Get, ids: string[]): Promise<Read[]> => {
  const walked = await walkPages({ get, path: FIRST_PAGE });
  if (walked.flatMap((page) => page.ids).join() !== ids.join()) {
    throw new BenchError('following Link from page to page does not give each plant once, in the order of ids');
  }
  return walked.slice(1);
};

const toPeerRead = ({ after, ids }: Page): Read => ({ path: `${FIRST_PAGE}&cursor=${after}`, ids });

const reading = (open: OpenTarget, reads: Read[]): OpenTarget => ({
  ...open,
  load: (load) => open.load({ ...load, reads }),
});
