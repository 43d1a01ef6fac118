import type { Logger } from 'pino';
import { createApp } from './app.ts';
import type { Config } from './config.ts';
import { createDatabase, createPool, type Database } from './database/database.ts';
import { assertReadyToServe } from './database/migration-state.ts';
import { withinTime } from './database/within-time.ts';
import { ApiError } from './http/api-error.ts';
import { createBodySlots } from './http/body-slots.ts';
import { createHttpServer } from './http/http-server.ts';
import { messageClassesOf } from './http/message-classes.ts';
import { createOutputBudget } from './http/output-budget.ts';
import { createInstruments } from './instruments.ts';
import { createFailedTokens } from './limits/failed-tokens.ts';
import { createRateLimit } from './limits/rate-limit.ts';
import { createRateLimitRepository } from './limits/rate-limit-repository.ts';
import { createPlantRepository } from './plants/plant-repository.ts';
import { createPlantStore } from './plants/plant-store.ts';
import { limitRequests } from './request-limits.ts';
import { createJwtVerifier } from './tokens/jwt-verifier.ts';
import { createTokenRepository } from './tokens/token-repository.ts';
import { createTokenVerifier } from './tokens/token-verifier.ts';

type ServiceOptions = {
  config: Config;
  databaseUrl: string;
  logger: Logger;
  /** Lines of the log that were lost so far. */
  droppedLines?: () => number;
  /** Which of several processes this is. */
  worker?: number | undefined;
};

/** What of the shutdown's time is left to close the database after the requests are answered, in ms, at most. */
const DATABASE_CLOSE_TIME = 1000;

/** Checks the tokens of the identity provider, where there is one. */
const jwtVerifierOf = ({ config: { identityProvider }, logger }: Pick<ServiceOptions, 'config' | 'logger'>) =>
  identityProvider &&
  createJwtVerifier({
    ...identityProvider,
    onRefreshFailed: (error) => logger.warn({ err: error }, 'the keys of the identity provider were not refreshed'),
  });

/** Limits the rate of requests, where there is a limit. */
const rateLimitOf = ({ config, logger, database }: Omit<ServiceOptions, 'databaseUrl'> & { database: Database }) =>
  config.rateLimit &&
  createRateLimit({
    ...config.rateLimit,
    counters: createRateLimitRepository({ ...config.rateLimit, database }),
    timeout: limitRequests(config).lookUpTimeout,
    onSweepFailed: (error) => logger.warn({ err: error }, 'the counters of ended windows were not deleted'),
  });

/** The store, put together: the process and the tests start and stop the same one. */
export const createService = async ({ config, databaseUrl, logger, droppedLines, worker }: ServiceOptions) => {
  const instruments = await createInstruments({ config, logger, worker });
  const { lookUpTimeout, connectTimeout, statementTimeout, bodySlots, outputBytes, ...limits } = limitRequests(config);
  const pool = createPool({
    url: databaseUrl,
    connectTimeout,
    statementTimeout,
    connections: config.databaseConnections,
  });
  instruments.watchPool(pool);
  if (droppedLines) instruments.watchLog(droppedLines);
  const database = createDatabase({
    pool,
    tracer: instruments.tracer,
    onConnectionLost: (error) => logger.warn({ err: error }, 'a connection to the database was lost'),
  });
  const tokens = createTokenRepository({ database });
  let stopping = false;
  let checking: Promise<void> | undefined;
  const assertReady = async () => {
    if (stopping) throw new ApiError('stopping', 'The store is stopping; send requests to another one.');
    // Probes that come together share a look at the database: they need no token, and are not to take all connections.
    checking ??= assertReadyToServe(database).finally(() => {
      checking = undefined;
    });
    await withinTime(checking, lookUpTimeout);
  };
  const app = createApp({
    logger,
    observers: instruments.observers,
    plants: createPlantStore({
      repository: createPlantRepository({ database }),
      limits,
      observeQueue: instruments.observeQueue,
    }),
    verifier: createTokenVerifier({
      tokens,
      limits,
      jwts: jwtVerifierOf({ config, logger }),
    }),
    assertReady,
    failedTokens: createFailedTokens(),
    rateLimit: rateLimitOf({ config, logger, database }),
    basePath: config.basePath,
    bodyLimit: config.bodyLimit,
    bodySlots: createBodySlots({ count: bodySlots }),
    outputBudget: createOutputBudget({ limit: outputBytes }),
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
  });
  const server = createHttpServer({
    handler: app,
    classes: messageClassesOf(app),
    requestTimeout: config.requestTimeout,
    maxConnections: config.maxConnections,
    onRefused: instruments.countRefusal,
  });
  const release = () => Promise.all([database.$disconnect(), instruments.stop()]);
  return {
    tokens,
    /** Lets go of everything where it fails. @returns the port that it listens on */
    start: async () => {
      try {
        await instruments.start();
        return await server.listen(config.host, config.port);
      } catch (error) {
        await release();
        throw error;
      }
    },
    /** Answers what is under way, or cuts it off when the time to stop is nearly over, and lets go of everything. */
    stop: async () => {
      stopping = true;
      const timeout = config.shutdownTimeout - Math.min(DATABASE_CLOSE_TIME, config.shutdownTimeout / 5);
      await server.close({ delay: config.shutdownDelay, timeout });
      await release();
    },
  };
};
