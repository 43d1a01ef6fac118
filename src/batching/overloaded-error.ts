/** Too many requests are waiting for the database, or this one waited too long. It was not sent to the database. */
export class OverloadedError extends Error {
  override name = 'OverloadedError';
}
