import type { Log } from '../observability/logger.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/**
 * Signals within this time of the first, in ms, count as one: on Ctrl-C the terminal sends SIGINT to the whole process
 * group, and npm forwards its own to this process. (close-with-grace exits on the second.)
 */
const SAME_SIGNAL_TIME = 1000;

type StopSignalOptions = {
  log: Log;
  /** How long the process may take to stop after the signal, in ms. */
  timeout: number;
};

type StopRequest = {
  signal: NodeJS.Signals;
  /** Cancels the timeout: the rest of the shutdown may take as long as it needs. */
  stopped: () => void;
};

/**
 * Resolves with the first stop signal. A later one exits at once with code 1, and so does the timeout. An uncaught
 * exception is logged and exits too.
 */
export const waitForStopSignal = ({ log, timeout }: StopSignalOptions): Promise<StopRequest> => {
  const exitNow = async () => {
    await log.flush();
    process.exit(1);
  };
  process.on('uncaughtException', (error) => {
    log.logger.fatal({ err: error }, 'uncaught exception');
    exitNow();
  });
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        const timer = setTimeout(exitNow, timeout).unref();
        resolve({ signal, stopped: () => clearTimeout(timer) });
      }
      if (performance.now() - firstAt > SAME_SIGNAL_TIME) exitNow();
    };
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  });
};
