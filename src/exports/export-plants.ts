import { setImmediate } from 'node:timers/promises';
import { OverloadedError } from '../batching/batch-queue.ts';
import { type BulkTrace, untraced } from '../batching/bulk-trace.ts';
import type { Database } from '../database/database.ts';
import { isStatementTimeout } from '../database/database-error.ts';
import { inSnapshot } from '../database/snapshot.ts';
import { SearchTimeoutError } from '../plants/plant-errors.ts';
import { createPlantPages, type PageOptions, type PlantFilter, type PlantPage } from '../plants/plant-pages.ts';

/** The maximum number of plants per page. With smaller pages, the overhead per statement exceeds the cost of the rows. */
const MAX_PAGE_SIZE = 5000;
/** The bytes of these pages need not be added up: they have at most 1 MB. */
const SHORT_PLANTS: PageOptions = { maxPlantBytes: 200 };
/** From the first longer plant on. Pages of 1 MiB in one row take 15 MiB more memory and 1.3 times as long. */
const LONG_PLANTS: PageOptions = { maxBytes: 262_144, pieces: 10 };
/** Each page can search the whole table, so pages are long, and none is read again. */
const FILTERED_PLANTS: PageOptions = { maxBytes: 1_048_576 };

type PlantExportsOptions = {
  /** Its pool needs a connection per export, which holds it until its end. */
  database: Database;
  /** The maximum number of concurrent exports. */
  limit: number;
  /** How long an export may wait for a connection, in ms. */
  startTimeout: number;
  trace?: BulkTrace | undefined;
};

/** `rows`: plants read by all exports since the process started. */
export type ExportCounts = { inProgress: number; rows: number };

export const createPlantExports = ({ database, limit, startTimeout, trace = untraced }: PlantExportsOptions) => {
  const counts: ExportCounts = { inProgress: 0, rows: 0 };
  return {
    counts: counts as Readonly<ExportCounts>,
    /**
     * Reads all plants that match, ordered by id, as of a single point in time. Reads one page ahead of `use`. Has no timeout
     * as a whole.
     * @param use called after the first page is read, so an earlier error can still set the response status
     * @throws {OverloadedError} {SearchTimeoutError} errors of PostgreSQL and of `use`
     */
    read: async (filter: PlantFilter, use: (pages: AsyncIterable<PlantPage>) => Promise<void>): Promise<void> => {
      if (counts.inProgress >= limit) throw new OverloadedError('Too many exports are in progress.');
      counts.inProgress += 1;
      try {
        await trace('export', (note) =>
          inSnapshot({ database, startTimeout }, async (transaction) => {
            const { search } = createPlantPages({ database: transaction });
            let rows = 0;
            let pageSize = MAX_PAGE_SIZE;
            const isFiltered = filter.tag !== undefined || filter.nameContains !== undefined;
            let options = isFiltered ? FILTERED_PLANTS : SHORT_PLANTS;
            const readAfter = async (after?: bigint): Promise<PlantPage> => {
              const page = await search({ ...filter, after, limit: pageSize }, options).catch(rethrow);
              if (options === SHORT_PLANTS && page.isCut) {
                options = LONG_PLANTS;
                return readAfter(after);
              }
              // PostgreSQL reads as many plants as are asked for, however few of them fit on the page.
              pageSize = Math.min(MAX_PAGE_SIZE, 2 * page.ids.length);
              rows += page.ids.length;
              counts.rows += page.ids.length;
              note({ rows });
              return page;
            };
            await use(followPages(await readAfter(), readAfter));
          }),
        );
      } finally {
        counts.inProgress -= 1;
      }
    },
  };
};

export type PlantExports = ReturnType<typeof createPlantExports>;

/** A statement timeout means that the search is slow, not that the database is unavailable. */
const rethrow = (error: unknown): never => {
  throw isStatementTimeout(error) ? new SearchTimeoutError('The search took too long.', { cause: error }) : error;
};

/** Yields pages, and reads the next one while the consumer uses the current one. */
async function* followPages(
  first: PlantPage,
  readAfter: (id: bigint) => Promise<PlantPage>,
): AsyncGenerator<PlantPage, void, undefined> {
  for (let page: PlantPage | undefined = first; page !== undefined; ) {
    const lastId = page.ids.at(-1);
    const next: Promise<PlantPage> | undefined =
      page.hasNext && lastId !== undefined ? readAfter(BigInt(lastId)) : undefined;
    // Prevents an unhandled rejection if the consumer stops before it is awaited below.
    next?.catch(() => {});
    // Prisma sends the statement later in this turn of the event loop. Without the pause, the consumer would format the
    // current page first.
    await setImmediate();
    yield page;
    page = await next;
  }
}
