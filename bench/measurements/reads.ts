/** Reads: the store compared with Express and Prisma, and its pages compared with SQL from `pg` alone. */

import { PAGE_LIMIT } from '../load/reads.ts';
import { whole } from '../reports/format.ts';
import { createProgress } from '../reports/progress.ts';
import type { Reads } from '../reports/results.ts';
import { measure, orderOf, type Round, summarize, warmUp } from './measure.ts';
import { openReaders, READ_ROWS, type Reader, type ReadSettings } from './readers.ts';

const CONNECTIONS = 64;
/** V8 optimizes the code of a page for some ten seconds. */
const FIRST_WARM_UP_SECONDS = 10;
const WARM_UP_SECONDS = 1;

type MeasureReads = ReadSettings & { rounds: number; seconds: number };

export const measureReads = async ({ rounds, seconds, ...settings }: MeasureReads): Promise<Reads> => {
  await using stack = new AsyncDisposableStack();
  const { readers, unavailable } = await openReaders(settings, stack);
  for (const { open } of readers) await warmUp(open, { connections: CONNECTIONS, seconds: FIRST_WARM_UP_SECONDS });
  const progress = createProgress(readers.length * rounds);
  const measured: Record<Reader['reads'], Round[]> = { plants: [], pages: [] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const { reads, target, title, open } of orderOf(round, readers)) {
      settings.signal.throwIfAborted();
      await warmUp(open, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS });
      const load = { connections: CONNECTIONS, seconds };
      const measurement = await measure({ target: open, stores: false, table: settings.table, ...load });
      measured[reads].push({ target, title, indexes: 'all', connections: CONNECTIONS, round, measurement });
      progress.step(`round ${round} · ${title} · ${reads} · ${whole(measurement.requestsPerSecond)}/s`);
    }
  }
  const [plants, pages] = [summarize(measured.plants), summarize(measured.pages)];
  return { connections: CONNECTIONS, rows: READ_ROWS, pageLimit: PAGE_LIMIT, plants, pages, unavailable };
};
