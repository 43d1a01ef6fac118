import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { assertTimeLimits, findObstacles, type InspectedDatabase } from '../database/check-databases.ts';
import { createDurabilityWatch } from '../database/inspect-database.ts';
import { createLog, type Log } from '../observability/logger.ts';
import { limitRequests } from '../request-limits.ts';
import { readSecretFile, writeSecretFile } from '../secret-file.ts';
import { createService } from '../service.ts';
import { generateTokenText, hashTokenText, SCOPES, tokenState } from '../tokens/token.ts';
import { waitForStopSignal } from './stop-signal.ts';
import { announce, baseUrl } from './usage.ts';
import { dataFolder, withDatabase, withTokens } from './with-database.ts';
import { createWorkers } from './workers.ts';

/** Serves the API until a signal stops it, then releases everything. */
export const serve = async (config: Config): Promise<void> => {
  const log = createLog({ level: config.logLevel, format: config.logFormat, worker: cluster.worker?.id });
  const { logger } = log;
  const stopSignal = waitForStopSignal(log, config);
  if (cluster.isWorker) return serveAsWorker(config, log, stopSignal);

  const isProduction = config.environment === 'production';
  const run = async (databaseUrl: string, databases: InspectedDatabase[]) => {
    const [database] = databases;
    if (database) assertTimeLimits(database, limitRequests(config).statementTimeout);
    const watchDurability = createDurabilityWatch((message) => logger.warn(message));
    for (const { facts } of databases) if (facts) watchDurability(facts.weaknesses);
    for (const { variable, failure: err } of databases)
      if (err) logger.error({ variable, err }, 'the database cannot be reached');
    for (const obstacle of findObstacles(databases, { isMigrated: isProduction })) logger.warn(obstacle);
    // Before the service, which nothing would stop if this fails.
    const token = isProduction ? undefined : await ensureLocalToken(databaseUrl, dataFolder(config));
    const server =
      config.workers === 1
        ? await createService({ config, databaseUrl, ...log })
        : createWorkers({ count: config.workers, databaseUrl, logger, metrics: config.metrics, stopSignal });
    const port = await server.start();
    if (port !== undefined) {
      logger.info({ pid: process.pid, host: config.host, port, basePath: config.basePath }, 'listening');
      if (!isProduction) announce(baseUrl({ ...config, port }), token);
    }
    const { signal, stopped } = await stopSignal;
    logger.info({ signal }, 'stopping');
    await server.stop();
    logger.info('stopped');
    // All requests are answered, so the embedded PostgreSQL may take as long as its shutdown checkpoint needs.
    stopped();
  };
  // In production each release runs `migrate` once.
  await withDatabase(config, (url, databases) => run(url, databases).finally(log.flush), { migrates: !isProduction });
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

/**
 * The access token of this machine, to try the service with. The first start creates it and keeps it in the data
 * folder, readable only by its owner.
 * @returns its text, or undefined if it was revoked or has expired, in which case it is not replaced
 * @throws file system errors if its file cannot be written, in which case no token is created
 */
export const ensureLocalToken = (databaseUrl: string, dataFolder: string): Promise<string | undefined> =>
  withTokens(databaseUrl, async (tokens) => {
    const file = join(dataFolder, 'access-token');
    const kept = existsSync(file) ? readSecretFile(file).trim() : undefined;
    const token = kept && (await tokens.findByHash(hashTokenText(kept)));
    if (token) return tokenState(token) === 'valid' ? kept : undefined;
    // The file is missing or belongs to another database.
    const name = `local-${hostname()}-${randomBytes(4).toString('hex')}`;
    const text = generateTokenText();
    // The file first, so that failing starts do not pile up tokens in the database.
    mkdirSync(dataFolder, { recursive: true });
    writeSecretFile(file, `${text}\n`);
    await tokens.create({ name, scopes: SCOPES, expiresAt: null, text });
    return text;
  });
