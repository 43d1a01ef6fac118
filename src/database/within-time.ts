/** The database did not answer in the time that was given for it; the code is that of a connection that timed out. */
export class DatabaseTimeoutError extends Error {
  override name = 'DatabaseTimeoutError';
  readonly code = 'ETIMEDOUT';
}

/**
 * Calls back after so many ms, but not before what has arrived by then is handled: a process that was busy comes to its
 * timers first, and would take answers that wait to be read for answers that did not come.
 */
export const setDeadline = (callback: () => void, milliseconds: number): NodeJS.Timeout =>
  setTimeout(() => setImmediate(callback), milliseconds);

/**
 * Waits for an answer of the database no longer than so many ms. What was asked goes on until PostgreSQL or the driver
 * gives it up, so this is for what only reads.
 * @throws {DatabaseTimeoutError}
 */
export const withinTime = async <Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setDeadline(() => reject(new DatabaseTimeoutError('The database did not answer in time.')), milliseconds);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    clearTimeout(timer);
  }
};
