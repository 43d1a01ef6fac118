import { setTimeout } from 'node:timers/promises';
import type { BatchLimits } from '../batching/batch-queue.ts';
import type { ObservedQueue, QueueObserver } from '../batching/queue-observer.ts';
import { createStatementQueue } from '../batching/statement-queue.ts';
import { OutcomeUnknownError } from '../database/database-error.ts';
import type { StoreRows } from './import-lanes.ts';
import type { Schedule } from './import-repository.ts';
import { isOfRow, type PlantRow } from './import-tally.ts';

/** How long imports yield to single requests after the last of them, in ms. */
const QUIET_AFTER = 100;
/** Rows per statement while imports yield. Such a statement takes a few ms, too short to delay single requests noticeably. */
const SMALL_PART = 100;
/** The pause after such a statement, as a multiple of its duration, and the maximum in ms. */
const PAUSE_FACTOR = 7;
const MAX_PAUSE = 250;

type ImportScheduleOptions = {
  limits: BatchLimits;
  observe?: ((queue: ObservedQueue) => QueueObserver | undefined) | undefined;
  /** The time of the last single request, in ms on the monotonic clock. */
  lastRequestAt: () => number;
};

/**
 * Shares the database connections among all imports of a process, and gives priority to single requests: while these arrive,
 * imports store a few rows at a time, one statement after another, with pauses.
 */
export const createImportSchedule = ({ limits, observe, lastRequestAt }: ImportScheduleOptions): Schedule => {
  const lateError = () => new OutcomeUnknownError('The database did not respond in time.');
  const statements = createStatementQueue({ limits, observe, lateError });
  const isQuiet = () => performance.now() - lastRequestAt() > QUIET_AFTER;
  let lastSmall: Promise<unknown> = Promise.resolve();

  const send = (rows: PlantRow[], store: StoreRows, deadline: number) =>
    statements({ send: () => store(rows), bytes: bytesOf(rows), timeout: deadline - performance.now() });

  const sendSmall = async (rows: PlantRow[], store: StoreRows, deadline: number) => {
    const turn = lastSmall.then(async () => {
      const startedAt = performance.now();
      const outcomes = await send(rows, store, deadline);
      return { outcomes, pause: Math.min(MAX_PAUSE, PAUSE_FACTOR * (performance.now() - startedAt)) };
    });
    lastSmall = turn.then(
      ({ pause }) => (isQuiet() ? undefined : setTimeout(pause)),
      () => undefined,
    );
    return (await turn).outcomes;
  };

  return async (rows, store, { isTransaction }) => {
    // Others may wait for the locks of a transaction, so it must not wait for others. It has a connection of its own.
    if (isTransaction) return store(rows);
    const outcomes: Awaited<ReturnType<StoreRows>> = [];
    for (let start = 0; start < rows.length; ) {
      const deadline = performance.now() + limits.deadline;
      const isWhole = isQuiet();
      const part = isWhole ? rows.slice(start) : rows.slice(start, start + SMALL_PART);
      outcomes.push(...(await (isWhole ? send(part, store, deadline) : sendSmall(part, store, deadline))));
      start += part.length;
      const last = outcomes.at(-1);
      // The remaining parts would fail for the same reason.
      if (last instanceof Error && !isOfRow(last)) return outcomes.concat(rows.slice(start).map(() => last));
    }
    return outcomes;
  };
};

const bytesOf = (rows: PlantRow[]) =>
  rows.reduce((bytes, { plant: { name, tag } }) => bytes + 2 * (name.length + (tag?.length ?? 0)), 0);
