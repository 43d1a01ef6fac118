import type { Logger } from 'pino';
import { createApp } from './app.ts';
import type { Config } from './config/config.ts';
import { createDatabase, createPool } from './database/database.ts';
import { startSweeping } from './database/sweep.ts';
import { createExports } from './exports/exports.ts';
import { createHealth } from './health/health.ts';
import { createByteBudget } from './http/byte-budget.ts';
import { createImports } from './imports/imports.ts';
import { createInstruments } from './observability/instruments.ts';
import { createOutageWatch, DATABASE_LOST, NOT_READY } from './observability/outage-watch.ts';
import { inUse, type State } from './observability/state.ts';
import { createPlants } from './plants/plants.ts';
import { limitRequests, type RequestLimits } from './request-limits.ts';
import { createHttpServer, createMessageClasses } from './server/http-server.ts';
import { createShutdown } from './shutdown.ts';
import { toStoreError } from './to-store-error.ts';
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

/** Composes the service. The process and the tests use the same function. */
export const createService = async (options: ServiceOptions) => {
  const { config, databaseUrl, logger, worker, droppedLines = () => 0 } = options;
  const { requestLimits: limits = limitRequests(config) } = options;
  const warn = (message: string) => logger.warn(message);
  const onConnectionLost = ({ message }: Error) => warn(`a connection to the database was lost: ${message}`);
  // `state` has the parts that are made below.
  const instruments = await createInstruments({ config, logger, worker, readState: () => state });
  const { observers, observeQueue, queues, traceStatement, traceBulk: trace } = instruments;

  const connecting = { url: databaseUrl, ...limits, onConnect: createOutageWatch({ logger, lines: DATABASE_LOST }) };
  const pool = createPool({ ...connecting, connections: config.databaseConnections });
  const database = createDatabase({ pool, traceStatement, onConnectionLost });
  // Imports and exports hold connections for long, which would exhaust those of a pooler.
  const url = config.directUrl ?? databaseUrl;
  const sessions = { url, connectTimeout: limits.connectTimeout, onConnectionLost };

  const { identityProvider, rateLimit, requestTimeout, keepAliveTimeout, maxConnections } = config;
  const { idempotencyRetention: retention } = config;
  const tokens = createTokens({ database, limits, identityProvider, rateLimit, observeQueue, logger });
  const { requireScope, watchRequest } = tokens;
  const onChecked = createOutageWatch({ logger, lines: NOT_READY });
  const hasConnections = () => pool.totalCount > 0;
  const checking = { hasConnections, timeout: limits.lookUpTimeout, warn, onChecked };
  const health = createHealth({ database: connecting, ...checking });
  const budget = createByteBudget({ limit: limits.heldBytes });
  const bodies = { limit: config.bodyLimit, timeout: requestTimeout, hold: budget.hold };

  const plants = createPlants({ database, limits, retention, observeQueue, requireScope, bodies });
  const bulk = { database: sessions, requireScope, watchRequest, trace };
  const imports = createImports({ ...bulk, limits: limits.imports, bodies });
  const exports = createExports({ ...bulk, limits: limits.exports });
  // The last one has `/plants/:id`, which also matches the paths of the others.
  const features = [exports.addRoutes, imports.addRoutes, plants.addRoutes];
  const app = createApp({ config, logger, observers, features, health: health.routes, hold: budget.hold });
  const server = createHttpServer({
    handler: app,
    classes: createMessageClasses(app),
    requestTimeout,
    keepAliveTimeout,
    maxConnections,
    logger,
    checkInterval: limits.connectionCheckInterval,
    lingerTimes: limits.linger,
    onRefused: instruments.countRefusal,
  });
  const stopSweeping = startSweeping({
    database,
    rows: [plants.expired, ...tokens.expired],
    interval: limits.sweepInterval,
    onFailed: (err, { name }) => logger.warn({ err }, `could not delete ${name}`),
  });

  const state: State = { pool, server, budget, plants, queues, imports, exports, health, droppedLines };
  const assertReady = () =>
    health.assertReady().catch((error) => {
      throw toStoreError(error);
    });
  const { release, stop } = createShutdown({ config, health, server, imports, stopSweeping, database, instruments });
  return {
    tokens: tokens.repository,
    inUse: () => inUse(state),
    /** Releases all resources if it fails. @returns the port */
    start: async () => {
      try {
        // Loads Prisma's engine, and opens no connection.
        await database.$connect();
        await instruments.start(assertReady);
        return await server.listen(config.host, config.port);
      } catch (error) {
        await release();
        throw error;
      }
    },
    stop,
  };
};
