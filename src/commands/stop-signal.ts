import type { Log } from '../logger.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/**
 * A signal again within this time, in ms, is the same one: on Ctrl-C the terminal sends SIGINT to the whole process group,
 * and npm passes its own on to us. (close-with-grace takes the second for impatience and exits at once.)
 */
const SAME_SIGNAL_TIME = 1000;

type StopSignalOptions = {
  log: Log;
  /** How long the process may take to stop after the signal, in ms. */
  timeout: number;
};

type StopRequest = {
  signal: NodeJS.Signals;
  /** Ends the time to stop: what the process does from then on may take as long as it must. */
  stopped: () => void;
};

/**
 * Resolves with the first signal that asks the process to stop; one that comes later ends it at once, and so does
 * the end of the time to stop. A fault that nothing caught is logged and ends the process too.
 */
export const waitForStopSignal = ({ log, timeout }: StopSignalOptions): Promise<StopRequest> => {
  const exitNow = async () => {
    await log.flush();
    process.exit(1);
  };
  process.on('uncaughtException', (error) => {
    log.logger.fatal({ err: error }, 'a fault that nothing caught');
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
