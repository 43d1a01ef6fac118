import { setImmediate } from 'node:timers/promises';

/**
 * Does heavy work one piece at a time, in the order in which it comes, and lets the event loop turn after each piece, so
 * that light requests pass between them.
 */
export const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    waiting += 1;
    const result = last.then(work);
    const goOn = () => {
      waiting -= 1;
      return setImmediate();
    };
    last = result.then(goOn, goOn);
    return result;
  };
  /** How many pieces are not done yet. */
  return Object.assign(inTurn, { waiting: () => waiting });
};
