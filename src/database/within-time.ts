/** The database did not answer in the time that was given for it; the code is that of a connection that timed out. */
export class DatabaseTimeoutError extends Error {
  override name = 'DatabaseTimeoutError';
  readonly code = 'ETIMEDOUT';
}

/**
 * Waits for an answer of the database no longer than so many ms. What was asked goes on until PostgreSQL or the driver
 * gives it up, so this is for what only reads.
 * @throws {DatabaseTimeoutError}
 */
export const withinTime = async <Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new DatabaseTimeoutError('The database did not answer in time.')), milliseconds);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    clearTimeout(timer);
  }
};
