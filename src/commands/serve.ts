import cluster from 'node:cluster';
import type { Config } from '../config/config.ts';
import { assertTimeLimits, type InspectedDatabase } from '../database/check-databases.ts';
import { createDurabilityWatch } from '../database/durability.ts';
import { createLog, type Log } from '../observability/logger.ts';
import { limitRequests } from '../request-limits.ts';
import { createService } from '../service.ts';
import { ensureLocalToken } from './local-token.ts';
import { waitForStopSignal } from './stop-signal.ts';
import { announce, baseUrl } from './usage.ts';
import { dataFolder, withDatabase } from './with-database.ts';
import { createWorkers } from './workers.ts';

/** Serves the API until a signal stops it, then releases everything. */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog({ level: config.logLevel, format: config.logFormat, worker: cluster.worker?.id });
  const { logger } = log;
  // Output for people may be lost, as with `serve >/dev/full`. Without a listener, the error would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const stopSignal = waitForStopSignal(log, config);
  if (cluster.isWorker) return serveAsWorker(config, log, stopSignal);

  const isProduction = config.environment === 'production';
  const run = async (databaseUrl: string, databases: InspectedDatabase[]) => {
    const [database] = databases;
    if (database) assertTimeLimits(database, limitRequests(config).statementTimeout);
    const watchDurability = createDurabilityWatch((message) => logger.warn(message));
    for (const { facts } of databases) if (facts) watchDurability(facts.weaknesses);
    // Before the service, which nothing would stop if this fails.
    const token = isProduction ? undefined : await ensureLocalToken(databaseUrl, dataFolder(config));
    const server =
      config.workers === 1
        ? await createService({ config, databaseUrl, ...log })
        : createWorkers({ count: config.workers, databaseUrl, logger, metrics: config.metrics });
    const port = await server.start();
    const url = baseUrl({ ...config, port });
    logger.info({ pid: process.pid, host: config.host, port, basePath: config.basePath }, 'listening');
    if (!isProduction) announce(url, token);
    const { signal, stopped } = await stopSignal;
    logger.info({ signal }, 'stopping');
    await server.stop();
    logger.info('stopped');
    // All requests are answered, so the embedded PostgreSQL may take as long as its shutdown checkpoint needs.
    stopped();
  };
  // In production each release runs `migrate` once.
  await withDatabase(config, (...opened) => run(...opened).finally(log.flush), { migrates: !isProduction });
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
