import { setImmediate } from 'node:timers/promises';

/**
 * Does heavy work one piece at a time, in the order in which it comes, and lets the event loop turn after each piece, so
 * that light requests pass between them.
 */
export const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.then(
      () => setImmediate(),
      () => setImmediate(),
    );
    return result;
  };
};
