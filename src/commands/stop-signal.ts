import { isatty } from 'node:tty';
import type { Config } from '../config/config.ts';
import type { Log } from '../observability/logger.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** On Ctrl-C the process gets SIGINT twice, from the terminal and from npm. Signals within this time, in ms, count as one. */
const SAME_SIGNAL_TIME = 1000;

type SignalListener = (signal: NodeJS.Signals) => void;

/** Calls `stop` with the first stop signal, and `stopNow` with later ones. @returns a function that removes the listeners */
const onStopSignal = (stop: SignalListener, stopNow: SignalListener, ignoresHangup = false): (() => void) => {
  let firstAt: number | undefined;
  const listener: SignalListener = (signal) => {
    if (ignoresHangup && signal === 'SIGHUP') return;
    if (firstAt === undefined) {
      firstAt = performance.now();
      stop(signal);
    } else if (performance.now() - firstAt > SAME_SIGNAL_TIME) stopNow(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, listener);
  };
};

/** Calls `run` with a signal that is aborted on the first stop signal. A later second one ends the process immediately. */
export const interruptible = async <Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> => {
  const controller = new AbortController();
  const removeListeners = onStopSignal(
    () => controller.abort(),
    (signal) => {
      removeListeners();
      process.kill(process.pid, signal);
    },
    // For nohup, because Node.js resets signals that its parent told it to ignore.
    !isatty(0),
  );
  try {
    return await run(controller.signal);
  } finally {
    removeListeners();
  }
};

/**
 * Resolves with the first stop signal. A later second one exits at once with code 1, and so does the end of SHUTDOWN_DELAY and
 * SHUTDOWN_TIMEOUT together, unless `stopped` is called. An uncaught exception is logged and exits too.
 */
export const waitForStopSignal = (log: Log, times: Pick<Config, 'shutdownDelay' | 'shutdownTimeout'>) => {
  const exitNow = async () => {
    await log.flush();
    process.exit(1);
  };
  process.on('uncaughtException', (error) => {
    log.logger.fatal({ err: error }, 'uncaught exception');
    exitNow();
  });
  return new Promise<{ signal: NodeJS.Signals; stopped: () => void }>((resolve) => {
    onStopSignal((signal) => {
      const timer = setTimeout(exitNow, times.shutdownDelay + times.shutdownTimeout).unref();
      resolve({ signal, stopped: () => clearTimeout(timer) });
    }, exitNow);
  });
};
