import { setTimeout } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { createLogger } from '../logger.ts';
import { createService } from '../service.ts';
import { announce } from './announce.ts';
import { baseUrl } from './base-url.ts';
import { dataFolder, leaseMigratedDatabase } from './lease-database.ts';
import { ensureLocalToken } from './local-token.ts';
import { waitForStopSignal } from './stop-signal.ts';
import { lockStore } from './store-lock.ts';

/** Serves the store until a signal stops it, with everything that it was given released again. */
export const serve = async (config: Config): Promise<void> => {
  const logger = createLogger({ level: config.logLevel, format: config.logFormat });
  const stopSignal = waitForStopSignal({ logger });
  const lock = config.databaseUrl === undefined ? lockStore(dataFolder(config)) : undefined;
  const lease = await leaseMigratedDatabase(config);
  try {
    const service = createService({ config, databaseUrl: lease.url, logger });
    const port = await service.start();
    logger.info({ host: config.host, port, basePath: config.basePath }, 'listening');
    const url = baseUrl({ ...config, port });
    lock?.note(url);
    if (config.environment !== 'production') {
      announce(url, await ensureLocalToken(service.tokens, dataFolder(config)));
    }
    logger.info({ signal: await stopSignal }, 'stopping');
    await Promise.race([service.stop(), setTimeout(config.shutdownTimeout)]);
  } finally {
    await lease.release();
    lock?.unlock();
    logger.info('stopped');
    logger.flush();
  }
};
