import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import sonicBoom from 'sonic-boom';

/** Bytes that are gathered before they are written, and how long they wait at most, in ms. */
const BUFFER_SIZE = 16_384;
/** Several processes on one pipe write no more than this at once, or they would write into each other's lines (PIPE_BUF). */
const ATOMIC_WRITE = 4096;
const FLUSH_INTERVAL = 500;
/** Bytes of lines that wait while the log cannot be written; further lines are dropped. */
const MAX_WAITING = 1_048_576;
/** How long a process that ends waits for its last lines to be written, in ms. */
const FLUSH_TIMEOUT = 1000;

type LogOptions = { level: string; format: 'auto' | 'json' | 'pretty'; worker?: number | undefined };

export type Log = {
  logger: Logger;
  /** Lines that were lost because the log could not be written. */
  droppedLines: () => number;
  /** Resolves when what was logged is written, or when that takes too long. */
  flush: () => Promise<void>;
};

/**
 * The log on standard output: one JSON line an event, or readable lines where that is a terminal. A log that cannot be
 * written (a full disk, a pipe that nobody reads) never holds up the process: lines are dropped and counted.
 * @param worker which of several processes writes it
 */
export const createLog = ({ level, format, worker }: LogOptions): Log => {
  const readable = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  // Not pino.destination, which on exit writes synchronously, and retries for ever on a full disk.
  const destination = new sonicBoom.SonicBoom({
    fd: 1,
    maxLength: MAX_WAITING,
    ...(readable
      ? // A terminal is read; what else readable lines go to may not be.
        { sync: process.stdout.isTTY === true, minLength: 0 }
      : { sync: false, contentMode: 'buffer', periodicFlush: FLUSH_INTERVAL, ...gathering(worker) }),
  });
  let droppedLines = 0;
  const onDrop = () => {
    droppedLines += 1;
  };
  destination.on('drop', onDrop);
  destination.once('error', reportOnce);
  destination.on('error', () => {});
  const logger = pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: createIsoTime(),
      formatters: { level: (label) => ({ level: label }) },
      hooks: readable ? {} : { streamWrite: toBytes },
    },
    readable ? makeReadable(destination, onDrop) : destination,
  );
  return { logger, droppedLines: () => droppedLines, flush: () => flush(destination) };
};

const reportOnce = ({ message }: Error) => {
  process.stderr.write(
    `plant-store: the log cannot be written (${message}). The service goes on; lines are dropped.\n`,
  );
};

/** pino-pretty waits for its destination, and would keep all lines meanwhile. */
const makeReadable = (destination: sonicBoom.SonicBoom, onDrop: () => void) => {
  const lines = pretty({
    destination,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    errorLikeObjectKeys: ['err'],
  });
  return {
    write: (line: string) => {
      if (lines.writableLength > MAX_WAITING) onDrop();
      else lines.write(line);
    },
  };
};

/**
 * Of lines that are text, SonicBoom counts the bytes of all that wait with each that comes, for which V8 copies them: 8 kB
 * of memory a line (record 0025). The types of pino know no stream of bytes.
 */
const toBytes = (line: string) => Buffer.from(line) as unknown as string;

/** pino's own `isoTime`, but for writing the same millisecond again and again, which took 1 µs of CPU a line. */
const createIsoTime = () => {
  let at = Number.NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== at) text = `,"time":"${new Date(now).toISOString()}"`;
    at = now;
    return text;
  };
};

/** Twice: the first may only wait for a write under way, and leave what came after it. */
const flush = async (destination: sonicBoom.SonicBoom): Promise<void> => {
  const flushOnce = () => new Promise<void>((resolve) => destination.flush(() => resolve()));
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_TIMEOUT);
  });
  await Promise.race([flushOnce().then(flushOnce), tooLong]);
  clearTimeout(timer);
};

const gathering = (worker: number | undefined) =>
  worker === undefined
    ? { minLength: BUFFER_SIZE, maxWrite: 4 * BUFFER_SIZE }
    : { minLength: ATOMIC_WRITE / 2, maxWrite: ATOMIC_WRITE };
