/** Not a bug, so no stack trace is printed: `message` says what is wrong and what to do. */
export class OperationalError extends Error {
  override name = 'OperationalError';
}
