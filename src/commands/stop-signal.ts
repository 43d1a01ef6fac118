import type { Logger } from 'pino';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/**
 * A signal again within this time, in ms, is the same one: on Ctrl-C the terminal sends SIGINT to the whole process group,
 * and npm passes its own on to us. (close-with-grace takes the second for impatience and exits at once.)
 */
const SAME_SIGNAL_TIME = 1000;

/**
 * Resolves with the first signal that asks the process to stop; one that comes later ends it at once. A fault that
 * nothing caught is logged and ends the process too.
 */
export const waitForStopSignal = ({ logger }: { logger: Logger }): Promise<NodeJS.Signals> => {
  const exitNow = () => {
    logger.flush();
    process.exit(1);
  };
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'a fault that nothing caught');
    exitNow();
  });
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > SAME_SIGNAL_TIME) exitNow();
      resolve(signal);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  });
};
