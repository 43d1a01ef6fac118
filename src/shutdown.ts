import type { Config } from './config/config.ts';
import type { Database } from './database/database.ts';
import { withinTime } from './database/within-time.ts';

/** The part of SHUTDOWN_TIMEOUT that is reserved for closing the database, in ms, at most. */
const DATABASE_CLOSE_TIME = 1000;

type ShutdownOptions = {
  config: Pick<Config, 'shutdownTimeout' | 'shutdownDelay'>;
  /** `stop`: from now on, the service is not ready. */
  health: { stop: () => void; close: () => Promise<void> };
  server: { close: (times: { delay: number; timeout: number }) => Promise<void> };
  imports: { stop: () => void; close: () => Promise<void> };
  stopSweeping: () => void;
  database: Pick<Database, '$disconnect'>;
  instruments: { stop: () => Promise<void> };
};

/** What stops when, and within which time. */
export const createShutdown = (options: ShutdownOptions) => {
  const { config, health, server, imports, stopSweeping, database, instruments } = options;
  const { shutdownTimeout, shutdownDelay: delay } = config;
  const closeTime = Math.min(DATABASE_CLOSE_TIME, shutdownTimeout / 5);
  const timeout = shutdownTimeout - closeTime;

  const release = async (): Promise<void> => {
    stopSweeping();
    // All responses are sent: a statement to which the database does not respond must not delay the exit.
    const disconnecting = withinTime(Promise.all([database.$disconnect(), health.close()]), closeTime).catch(() => {});
    await Promise.all([disconnecting, imports.close(), instruments.stop()]);
  };

  /** Finishes the requests in progress within SHUTDOWN_TIMEOUT, and releases all resources. */
  const stop = async (): Promise<void> => {
    health.stop();
    // Imports get half of the time. After that, those still running end, and respond that nothing is stored.
    const stopImports = setTimeout(imports.stop, delay + timeout / 2);
    const cutImports = setTimeout(imports.close, delay + (timeout * 3) / 4);
    try {
      await server.close({ delay, timeout });
    } finally {
      clearTimeout(stopImports);
      clearTimeout(cutImports);
      await release();
    }
  };

  return { release, stop };
};
