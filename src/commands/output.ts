import { OperationalError } from '../operational-error.ts';

/** Standard output cannot be written to. */
export class OutputError extends OperationalError {
  declare readonly cause: NodeJS.ErrnoException;

  constructor(cause: NodeJS.ErrnoException) {
    super(`The output could not be written: ${cause.message}`, { cause });
  }
}

/**
 * Writes to standard output and waits until everything is written: a pipe takes 64 KiB at a time, and the process exits
 * when its command is done.
 * @throws {OutputError}
 */
export const print = (text: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    // The stream also emits the error. Without a listener that would end the process.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {});
    process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
  });

/** Writes a line for people to standard error, and does not wait for it. */
export const note = (line: string): void => void process.stderr.write(`${line}\n`);
