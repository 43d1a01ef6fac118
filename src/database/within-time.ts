import { DatabaseUnreachableError } from './database-error.ts';

/** The database did not respond to a read in time. */
export const lateRead = () => new DatabaseUnreachableError('The database did not respond in time.');

/**
 * Like setTimeout, but lets pending I/O run first: after a busy period Node.js runs timers before it reads sockets, and
 * responses that have arrived would count as late.
 */
export const setDeadline = (callback: () => void, milliseconds: number): NodeJS.Timeout =>
  setTimeout(() => setImmediate(callback), milliseconds);

/** @returns a function that returns the remaining time, in ms */
export const startTimer = (milliseconds: number) => {
  const deadline = performance.now() + milliseconds;
  return (): number => deadline - performance.now();
};

/**
 * Rejects if the database does not respond within `milliseconds`. Does not cancel the statement, so use it for reads only.
 * @throws {DatabaseUnreachableError}
 */
export const withinTime = <Result>(result: Promise<Result>, milliseconds: number): Promise<Result> => {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setDeadline(() => reject(lateRead()), milliseconds);
  return Promise.race([result, tooLate]).finally(() => clearTimeout(timer));
};
