import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import sonicBoom from 'sonic-boom';

/** Bytes to collect before a write. */
const BUFFER_SIZE = 16_384;
/** The longest time that lines wait for a write, in ms. */
const FLUSH_INTERVAL = 500;
/** Bytes that one write to a pipe keeps together (PIPE_BUF). Larger writes of several processes would mix their lines. */
const ATOMIC_WRITE = 4096;
/** Bytes of lines to keep while the log cannot be written. Further lines are dropped. */
const MAX_WAITING = 1_048_576;
/** How long a process waits at exit for its last lines to be written, in ms. */
const FLUSH_TIMEOUT = 1000;

/** What PostgreSQL's errors tell of rows, such as those that violate a constraint, or of the statements of a trigger. */
export const REDACT = {
  paths: ['err.detail', 'err.where', 'err.internalQuery', 'err.meta.driverAdapterError.cause.detail'],
  remove: true,
};

type LogOptions = { level: string; format: 'auto' | 'json' | 'pretty'; worker?: number | undefined };

/**
 * Logs to standard output: one JSON line per event, or readable lines on a terminal. If the log cannot be written (a full
 * disk, a pipe that nobody reads), the process drops and counts lines instead of waiting.
 * @param worker the number of this process, if there are several
 */
export const createLog = ({ level, format, worker }: LogOptions) => {
  // Reading process.stdout also makes a pipe non-blocking. Otherwise a write to a pipe that nobody reads would block a thread, for which
  // Node.js waits at exit.
  const isTerminal = process.stdout.isTTY === true;
  const readable = format === 'pretty' || (format === 'auto' && isTerminal);
  const [minLength, maxWrite] =
    worker === undefined ? [BUFFER_SIZE, 4 * BUFFER_SIZE] : [ATOMIC_WRITE / 2, ATOMIC_WRITE];
  // pino.destination writes synchronously at exit, and on a full disk retries forever.
  const destination = new sonicBoom.SonicBoom({
    fd: 1,
    maxLength: MAX_WAITING,
    ...(readable
      ? // Only a terminal always reads what is written to it. With a minLength of 0, flush would not wait.
        { sync: isTerminal, minLength: 1 }
      : { sync: false, periodicFlush: FLUSH_INTERVAL, minLength, maxWrite }),
  });
  // pino calls it for a fatal line, and on a full disk it never returns. `flush` follows.
  destination.flushSync = () => {};
  let droppedLines = 0;
  destination.on('drop', () => {
    droppedLines += 1;
  });
  destination.once('error', ({ message }) => {
    process.stderr.write(
      `plant-store: the log cannot be written (${message}). The service keeps running and drops log lines.\n`,
    );
  });
  destination.on('error', () => {});
  const logger = pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: REDACT,
    },
    readable ? makeReadable(destination) : destination,
  );
  return {
    logger,
    /** The number of lines dropped because the log could not be written. */
    droppedLines: (): number => droppedLines,
    /** Resolves once all lines are written, or after FLUSH_TIMEOUT. The process should then exit. */
    flush: async (): Promise<void> => {
      const flushOnce = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
      // The first flush may only wait for a write in progress and leave later lines.
      await Promise.race([flushOnce().then(flushOnce), setTimeout(FLUSH_TIMEOUT)]);
    },
  };
};

export type Log = ReturnType<typeof createLog>;

const makeReadable = (destination: sonicBoom.SonicBoom) => {
  const toText = prettyFactory({
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    errorLikeObjectKeys: ['err'],
  });
  return { write: (line: string) => destination.write(toText(line)) };
};
