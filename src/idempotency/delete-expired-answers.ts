import { setTimeout } from 'node:timers/promises';

/** How often expired answers are looked for, in ms. */
const INTERVAL = 60_000;
/** The pause between two statements while other requests arrive, in ms: 4,000 answers per second. */
const PAUSE = 250;
/** How long no request must have arrived for statements without pauses, in ms. */
const QUIET_AFTER = 100;

type DeleteExpiredAnswersOptions = {
  /** @returns whether there may be more */
  deleteExpired: () => Promise<boolean>;
  /** The time of the last request, in ms of the monotonic clock. */
  lastRequestAt: () => number;
  onFailed: (error: Error) => void;
};

/**
 * Deletes expired answers a few at a time, slowly while requests arrive. Without any, it costs one look at an index per minute.
 * @returns a function that ends it, and resolves once no statement is in progress
 */
export const startDeletingExpiredAnswers = (options: DeleteExpiredAnswersOptions): (() => Promise<void>) => {
  const { deleteExpired, lastRequestAt, onFailed } = options;
  let isStopped = false;
  let sweep: Promise<void> | undefined;

  const deleteAll = async () => {
    while (!isStopped && (await deleteExpired()))
      if (performance.now() - lastRequestAt() < QUIET_AFTER) await setTimeout(PAUSE);
  };
  const timer = setInterval(() => {
    sweep ??= deleteAll()
      .catch(onFailed)
      .finally(() => {
        sweep = undefined;
      });
  }, INTERVAL).unref();

  return async () => {
    isStopped = true;
    clearInterval(timer);
    await sweep;
  };
};
