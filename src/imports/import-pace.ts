import { setTimeout } from 'node:timers/promises';
import type { PlantRow } from './import.ts';
import type { StoreRows } from './import-repository.ts';
import { isOfRow, type RowOutcome } from './import-tally.ts';

/** How long imports yield to single requests after the last of them, in ms. */
const QUIET_AFTER = 100;
/** Rows per statement while imports yield. Such a statement takes a few ms, too short to delay single requests noticeably. */
const SMALL_PART = 100;
/** The time from one such statement to the next, as a multiple of its duration, and the maximum in ms. */
const INTERVAL_FACTOR = 8;
const MAX_INTERVAL = 250;

/** Stores the rows of a chunk with one call of `store` or several. */
export type Pace = (rows: PlantRow[], store: StoreRows) => Promise<RowOutcome[]>;

/**
 * Gives priority to single requests: while these arrive, the imports of a process take turns to store a few rows.
 * @param lastRequestAt the time of the last single request, in ms on the monotonic clock
 */
export const createImportPace = ({ lastRequestAt }: { lastRequestAt: () => number }): Pace => {
  let interval = 0;
  let nextAt = 0;
  const mustYield = () => performance.now() - lastRequestAt() <= QUIET_AFTER;

  /** Turns follow the clock rather than a queue, so that a statement that waits for a lock delays no other import. */
  const waitForTurn = async () => {
    const now = performance.now();
    const startsAt = Math.max(now, nextAt);
    nextAt = startsAt + interval;
    await setTimeout(startsAt - now);
  };

  return async (rows, store) => {
    const outcomes: RowOutcome[] = [];
    while (outcomes.length < rows.length) {
      if (mustYield()) await waitForTurn();
      const isSmall = mustYield();
      const startedAt = performance.now();
      const start = outcomes.length;
      outcomes.push(...(await store(rows.slice(start, isSmall ? start + SMALL_PART : undefined))));
      if (isSmall) interval = Math.min(MAX_INTERVAL, INTERVAL_FACTOR * (performance.now() - startedAt));
      const last = outcomes.at(-1);
      // The remaining rows would fail for the same reason.
      if (last instanceof Error && !isOfRow(last)) outcomes.push(...rows.slice(outcomes.length).map(() => last));
    }
    return outcomes;
  };
};
