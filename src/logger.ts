import { destination, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** Bytes that are gathered before they are written, and how long they wait at most, in ms. */
const BUFFER_SIZE = 16_384;
/** Several processes on one pipe write no more than this at once, or they would write into each other's lines (PIPE_BUF). */
const ATOMIC_WRITE = 4096;
const FLUSH_INTERVAL = 500;

type LoggerOptions = { level: string; format: 'auto' | 'json' | 'pretty'; worker?: number | undefined };

/**
 * The log on standard output: one JSON line an event, or readable lines where that is a terminal.
 * Lines are gathered; `logger.flush()` writes what waits. `worker`: which of several processes writes them.
 */
export const createLogger = ({ level, format, worker }: LoggerOptions): Logger => {
  const readable = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  const stream = readable
    ? pretty({
        sync: true,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss.l',
        singleLine: true,
        errorLikeObjectKeys: ['err'],
      })
    : destination({ fd: 1, sync: false, contentMode: 'buffer', ...gathering(worker), periodicFlush: FLUSH_INTERVAL });
  return pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: createIsoTime(),
      formatters: { level: (label) => ({ level: label }) },
      hooks: readable ? {} : { streamWrite: toBytes },
    },
    stream,
  );
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

/** Resolves when what was logged is written. */
export const flush = (logger: Logger): Promise<void> => new Promise((resolve) => logger.flush(() => resolve()));

const gathering = (worker: number | undefined) =>
  worker === undefined
    ? { minLength: BUFFER_SIZE, maxWrite: 4 * BUFFER_SIZE }
    : { minLength: ATOMIC_WRITE / 2, maxWrite: ATOMIC_WRITE };
