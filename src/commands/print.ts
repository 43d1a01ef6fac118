/** Standard output did not take what a command printed. */
export class OutputError extends Error {
  override name = 'OutputError';
  /** Whether the reader closed the pipe, as `| head -1` does. */
  readonly closedByReader: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(`The output could not be written: ${cause.message}`, { cause });
    this.closedByReader = cause.code === 'EPIPE';
  }
}

/**
 * Writes a text to standard output and waits until it is written: the process exits when its command is done, and a pipe
 * takes 64 KiB at a time.
 * @throws {OutputError}
 */
export const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    // The stream also emits the error, which would end the process if nobody listened.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {});
    process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
  });
