import cluster from 'node:cluster';
import type { Config } from '../config/config.ts';
import { checkRoleTimeout } from '../database/role-timeout.ts';
import { createLog, type Log } from '../observability/logger.ts';
import { limitRequests } from '../request-limits.ts';
import { createService } from '../service.ts';
import { ensureLocalToken } from './local-token.ts';
import { announce, baseUrl } from './output.ts';
import { waitForStopSignal } from './stop-signal.ts';
import { lockStore } from './store-lock.ts';
import { dataFolder, withDatabase } from './with-database.ts';
import { createWorkers } from './workers.ts';

/** Serves the API until a signal stops it, then releases everything. */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog({ level: config.logLevel, format: config.logFormat, worker: cluster.worker?.id });
  const { logger } = log;
  // Output for people may be lost, as with `serve >/dev/full`. Without a listener, the error would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const stopSignal = waitForStopSignal({ log, timeout: config.shutdownDelay + config.shutdownTimeout });
  if (cluster.isWorker) return serveAsWorker(config, log, stopSignal);

  const isProduction = config.environment === 'production';
  const lock = config.databaseUrl === undefined ? lockStore(dataFolder(config)) : undefined;
  const run = async (databaseUrl: string) => {
    await checkRoleTimeout(databaseUrl, limitRequests(config).statementTimeout);
    const server =
      config.workers === 1
        ? await createService({ config, databaseUrl, ...log })
        : createWorkers({ count: config.workers, databaseUrl, logger, metrics: config.metrics });
    const token = isProduction ? undefined : await ensureLocalToken(databaseUrl, dataFolder(config));
    const port = await server.start();
    const url = baseUrl({ ...config, port });
    logger.info({ host: config.host, port, basePath: config.basePath }, 'listening');
    lock?.note(url);
    if (!isProduction) announce(url, token);
    const { signal, stopped } = await stopSignal;
    logger.info({ signal }, 'stopping');
    await server.stop();
    logger.info('stopped');
    // All requests are answered, so the embedded PostgreSQL may take as long as its shutdown checkpoint needs.
    stopped();
  };
  // In production each release runs `migrate` once.
  await withDatabase(config, (url) => run(url).finally(log.flush), { migrates: !isProduction }).finally(lock?.unlock);
};

/** The primary process has prepared the database, and sends the signal to stop. */
const serveAsWorker = async (config: Config, log: Log, stopSignal: Promise<unknown>) => {
  const { databaseUrl = '' } = config;
  const service = await createService({ config, databaseUrl, ...log, worker: cluster.worker?.id });
  await service.start();
  await stopSignal;
  await service.stop();
  await log.flush();
};
