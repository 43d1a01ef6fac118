import { fstatSync, writeFileSync } from 'node:fs';
import { OperationalError } from '../errors.ts';
import { escapeControls, formatCount } from '../quote-value.ts';

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
    process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
  });

/** Makes each write to a file whole, or fail. On the last bytes of a disk, Node.js writes a part and says nothing. */
export const writeWhole = (stream: NodeJS.WriteStream & { fd: number }): void => {
  if (!fstatSync(stream.fd).isFile()) return;
  stream._write = (chunk, _encoding, done) => {
    try {
      writeFileSync(stream.fd, chunk);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
};

/** Writes a line for people to standard error, and does not wait for it. */
export const note = (line: string): void => void process.stderr.write(`${escapeControls(line)}\n`);

/** How often to show progress, in ms: as a bar on a terminal, otherwise as a new line each time. */
const TERMINAL_INTERVAL = 200;
const LINE_INTERVAL = 10_000;
const BAR_WIDTH = 20;
const CLEAR_LINE = '\r\x1b[K';

type Output = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

/**
 * Shows what `read` returns, on standard error, until the result is disposed.
 * @param read gets the seconds since the start
 */
export const showProgress = (read: (seconds: number) => string, output: Output = process.stderr): Disposable => {
  const { isTTY } = output;
  const startedAt = performance.now();
  const show = () => {
    const text = read((performance.now() - startedAt) / 1000);
    output.write(isTTY ? `${CLEAR_LINE}${text.slice(0, (output.columns ?? 80) - 1)}` : `${text}\n`);
  };
  const timer = setInterval(show, isTTY ? TERMINAL_INTERVAL : LINE_INTERVAL);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      if (isTTY) output.write(CLEAR_LINE);
    },
  };
};

/**
 * For example `[#####---------------]  25 %  250,000 rows  50,000 rows/s  0:15 left`.
 * @param share from 0 to 1; NaN if the total is unknown
 */
export const describeProgress = (seconds: number, rows: number, share = Number.NaN): string => {
  const done = [`${formatCount(rows)} rows`, `${formatCount(seconds > 0 ? rows / seconds : 0)} rows/s`];
  if (Number.isNaN(share)) return done.join('  ');
  // A file can grow while it is read.
  const part = Math.min(share, 1);
  const bar = '#'.repeat(part * BAR_WIDTH).padEnd(BAR_WIDTH, '-');
  const left = part > 0 && part < 1 ? [`${duration((seconds / part) * (1 - part))} left`] : [];
  return [`[${bar}]`, `${String(Math.floor(part * 100)).padStart(3)} %`, ...done, ...left].join('  ');
};

/** For example `storing 250,000 rows  0:12`. */
export const describeStoring = (seconds: number, rows: number): string =>
  `storing ${formatCount(rows)} rows  ${duration(seconds)}`;

const duration = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const parts = hours > 0 ? [hours, minutes, whole % 60] : [minutes, whole % 60];
  return parts.map((part, index) => String(part).padStart(index === 0 ? 1 : 2, '0')).join(':');
};
