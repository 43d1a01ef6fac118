import type { Logger } from 'pino';
import { errorCodes } from './api-errors.ts';
import { createApp } from './app.ts';
import { createBodySlots } from './bodies/body-slots.ts';
import type { Config } from './config/config.ts';
import { createDatabase, createPool, describePool } from './database/database.ts';
import { createPoolStatements } from './database/statements.ts';
import { createPlantExports } from './exports/export-plants.ts';
import { addExportRoutes } from './exports/export-routes.ts';
import { createHealth } from './health/health.ts';
import { createOutputBudget } from './http/send-json.ts';
import { createAnswerOnce } from './idempotency/answer-once.ts';
import { startDeletingExpiredAnswers } from './idempotency/delete-expired-answers.ts';
import { createKeptAnswerRepository } from './idempotency/kept-answer-repository.ts';
import { createImportBodyReader } from './imports/import-body.ts';
import { createImportPace } from './imports/import-pace.ts';
import { createImportRepository, LANES } from './imports/import-repository.ts';
import { addImportRoutes } from './imports/import-routes.ts';
import { createPlantImporter } from './imports/plant-importer.ts';
import { createInstruments } from './observability/instruments.ts';
import { createKeyedPlantRepository } from './plants/keyed-plant-repository.ts';
import { createPlantRepository } from './plants/plant-repository.ts';
import { addPlantRoutes } from './plants/plant-routes.ts';
import { createPlantService } from './plants/plant-service.ts';
import { limitRequests, type RequestLimits } from './request-limits.ts';
import { createHttpServer } from './server/http-server.ts';
import { createMessageClasses } from './server/message-classes.ts';
import { createTokens } from './tokens/tokens.ts';

type ServiceOptions = {
  config: Config;
  databaseUrl: string;
  logger: Logger;
  /** The number of log lines lost so far. */
  droppedLines?: () => number;
  /** The number of this process, if there are several. */
  worker?: number | undefined;
  requestLimits?: RequestLimits;
};

/** The part of SHUTDOWN_TIMEOUT that is reserved for closing the database, in ms, at most. */
const DATABASE_CLOSE_TIME = 1000;

/** Composes the service. The process and the tests use the same function. */
export const createService = async (options: ServiceOptions) => {
  const { config, databaseUrl, logger, droppedLines, worker, requestLimits = limitRequests(config) } = options;
  const instruments = await createInstruments({
    config,
    logger,
    worker,
    droppedLines,
    errorCodes: errorCodes.map(({ code }) => code),
  });
  const { lookUpTimeout, connectTimeout, statementTimeout, bodySlots, outputBytes, imports, exports, ...limits } =
    requestLimits;
  const pool = createPool({
    url: databaseUrl,
    connectTimeout,
    statementTimeout,
    connections: config.databaseConnections,
  });
  instruments.watchPool(() => describePool(pool));
  const { tracer } = instruments;
  const traceStatements = tracer && (await import('./database/trace-statements.ts')).createStatementTracing({ tracer });
  const onConnectionLost = (error: Error) => logger.warn({ err: error }, 'a connection to the database was lost');
  const database = createDatabase({ pool, traceStatements, onConnectionLost });
  // Imports and exports hold connections for long, which would exhaust those of a pooler.
  const sessionUrl = config.directUrl ?? databaseUrl;
  // Imports have their own connections, so that no request waits for one.
  const importStatements = createPoolStatements({
    pool: createPool({
      url: sessionUrl,
      connectTimeout,
      statementTimeout: imports.statementTimeout,
      connections: imports.count * LANES,
    }),
    onConnectionLost,
  });
  const plantExports = createPlantExports({
    database: { url: sessionUrl, connectTimeout },
    limit: exports.count,
    trace: instruments.traceBulk,
  });
  instruments.watchExports(plantExports.counts);
  const { identityProvider, rateLimit } = config;
  const tokens = createTokens({ database, limits: requestLimits, identityProvider, rateLimit, logger });
  const health = createHealth({ database, timeout: lookUpTimeout });
  const kept = createKeptAnswerRepository({ database, retention: config.idempotencyRetention });
  const repository = createPlantRepository({ database });
  const plants = createPlantService({
    repository,
    keyedRepository: createKeyedPlantRepository({ database, kept }),
    limits,
    observeQueue: instruments.observeQueue,
  });
  const importer = createPlantImporter({
    repository: createImportRepository({ statements: importStatements }),
    pace: createImportPace({ lastRequestAt: plants.lastRequestAt }),
    maxImports: imports.count,
    observer: instruments.observeImports,
    trace: instruments.traceBulk,
  });
  const { requireScope, watchToken } = tokens;
  const [requireReadScope, requireWriteScope] = [requireScope('plants:read'), requireScope('plants:write')];
  const bodies = { limit: config.bodyLimit, slots: createBodySlots({ count: bodySlots }) };
  const outputBudget = createOutputBudget({ limit: outputBytes });
  const app = createApp({
    config,
    logger,
    observers: instruments.observers,
    health: health.routes,
    features: [
      // First, because `/plants/:id` also matches the paths of exports and imports.
      addExportRoutes({ plantExports, requireReadScope, watchToken, stallTimeout: exports.stallTimeout }),
      addImportRoutes({
        importer,
        requireWriteScope,
        watchToken,
        readRows: createImportBodyReader({
          bodies,
          pauseTimeout: config.requestTimeout,
          rowTimeout: imports.rowTimeout,
        }),
        outputBudget,
      }),
      addPlantRoutes({
        plants,
        requireReadScope,
        requireWriteScope,
        requireBothScopes: requireScope('plants:read', 'plants:write'),
        answerOnce: createAnswerOnce({ isDistributed: repository.isDistributed, limits: limits.writes }),
        bodies,
        outputBudget,
      }),
    ],
  });
  const server = createHttpServer({
    handler: app,
    classes: createMessageClasses(app),
    requestTimeout: config.requestTimeout,
    maxConnections: config.maxConnections,
    onRefused: instruments.countRefusal,
  });
  const stopDeleting = startDeletingExpiredAnswers({
    // Where plants are distributed no answer is kept, and the workers do not have the table.
    deleteExpired: async () => !(await repository.isDistributed()) && kept.deleteExpired(),
    lastRequestAt: plants.lastRequestAt,
    onFailed: (error) => logger.warn({ err: error }, 'could not delete expired answers of idempotency keys'),
  });
  const release = async () => {
    await stopDeleting();
    await Promise.all([database.$disconnect(), importStatements.close(), instruments.stop()]);
  };
  return {
    tokens: tokens.repository,
    /** Releases all resources if it fails. @returns the port */
    start: async () => {
      try {
        await instruments.start();
        return await server.listen(config.host, config.port);
      } catch (error) {
        await release();
        throw error;
      }
    },
    /** Finishes the requests in progress within SHUTDOWN_TIMEOUT, and releases all resources. */
    stop: async () => {
      health.stop();
      const timeout = config.shutdownTimeout - Math.min(DATABASE_CLOSE_TIME, config.shutdownTimeout / 5);
      // Imports get half of the time. After that, those still running finish their chunks and respond with what is stored.
      const stopImports = setTimeout(importer.stop, config.shutdownDelay + timeout / 2);
      const cutImports = setTimeout(importStatements.close, config.shutdownDelay + (timeout * 3) / 4);
      await server.close({ delay: config.shutdownDelay, timeout });
      clearTimeout(stopImports);
      clearTimeout(cutImports);
      await release();
    },
  };
};
