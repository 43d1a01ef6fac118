import type { PlantsTable } from '../database/plants-table.ts';
import type { OpenTarget } from '../load/load.ts';
import { openPgPages } from '../load/pg-pages.ts';
import { followPages, type Get, PAGE_LIMIT, type Page, type Read, verifyReads } from '../load/reads.ts';
import { BenchError, reasonOf } from '../processes/bench-error.ts';
import { whole } from '../reports/format.ts';
import { say } from '../reports/progress.ts';
import type { Unavailable } from '../reports/results.ts';
import type { Target } from './targets.ts';

export const READ_ROWS = 100_000;
/** One of so many plants, and every page, is verified before the measurement. */
const PLANTS_PER_VERIFIED = 20;
/** Without HTTP: the simplest way to read a page, and the store's own statement. */
const PG_ALONE = [
  { id: 'pg', title: 'Plain SELECT from pg alone', statement: 'plain' },
  { id: 'pg-statement', title: 'Store statement from pg alone', statement: 'store' },
] as const;
const FIRST_PAGE = `/plants?limit=${PAGE_LIMIT}`;

/** A target, and what is read from it. */
export type Reader = { reads: 'plants' | 'pages'; target: string; title: string; open: OpenTarget };

export type ReadSettings = {
  store: Target;
  peer: Target;
  databaseUrl: string;
  table: PlantsTable;
  signal: AbortSignal;
};

/** Starts the targets, fills the table and verifies the answers. A target that fails is listed as unavailable. */
export const openReaders = async (settings: ReadSettings, stack: AsyncDisposableStack) => {
  const { store, peer, databaseUrl, table, signal } = settings;
  const readers: Reader[] = [];
  const unavailable: Unavailable[] = [];
  const attempt = async ({ id, title }: Pick<Target, 'id' | 'title'>, action: () => Promise<void>) =>
    action().catch((error: unknown) => {
      signal.throwIfAborted();
      say(`${title} cannot be measured: ${reasonOf(error)}`);
      unavailable.push({ target: id, title, round: 1, reason: reasonOf(error) });
    });
  const stopLater = (open: OpenTarget) => stack.adopt(open, ({ stop }) => stop());

  const servers = new Map<Target, OpenTarget>();
  for (const target of [store, peer]) {
    await attempt(target, async () => void servers.set(target, stopLater(await target.open())));
  }
  // After the servers have started, because each stores a plant as it starts.
  say(`Filling the table to ${whole(READ_ROWS)} rows`);
  await table.reset();
  await table.fillTo(READ_ROWS, signal);
  const ids = await table.ids();
  const pages = pagesOf(ids);
  for (const [target, open] of servers) {
    await attempt(target, async () => {
      const get = open.get as Get;
      const plantReads = ids.map((id) => ({ path: `/plants/${id}`, ids: [id] }));
      const pageReads = target === store ? await followStorePages(get, ids) : pages.map(toPeerRead);
      const verified = plantReads.filter((_, index) => index % PLANTS_PER_VERIFIED === 0);
      await verifyReads(get, [...verified, ...pageReads]);
      const { id, title } = target;
      readers.push({ reads: 'plants', target: id, title, open: withReads(open, plantReads) });
      readers.push({ reads: 'pages', target: id, title, open: withReads(open, pageReads) });
    });
  }
  for (const { id, title, statement } of PG_ALONE) {
    await attempt({ id, title }, async () => {
      const open = stopLater(await openPgPages({ databaseUrl, pages, statement, signal }));
      readers.push({ reads: 'pages', target: id, title, open });
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

const followStorePages = async (get: Get, ids: string[]): Promise<Read[]> => {
  const pages = await followPages(get, FIRST_PAGE);
  if (pages.flatMap((page) => page.ids).join() !== ids.join()) {
    throw new BenchError('following the Link headers does not return each plant once, ordered by id');
  }
  return pages.slice(1);
};

const toPeerRead = ({ after, ids }: Page): Read => ({ path: `${FIRST_PAGE}&cursor=${after}`, ids });

const withReads = (open: OpenTarget, reads: Read[]): OpenTarget => ({
  ...open,
  load: (load) => open.load({ ...load, reads }),
});
