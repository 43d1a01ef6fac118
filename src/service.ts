import type { Logger } from 'pino';
import { createApp } from './app.ts';
import type { Config } from './config.ts';
import { createDatabase } from './database/database.ts';
import { assertMigrated } from './database/migration-state.ts';
import { createHttpServer } from './http/http-server.ts';
import { createGroupCommit } from './plants/group-commit.ts';
import { createPlantRepository } from './plants/plant-repository.ts';
import { storeBatch } from './plants/store-batch.ts';
import { createTokenRepository } from './tokens/token-repository.ts';
import { createTokenVerifier } from './tokens/token-verifier.ts';

type ServiceOptions = { config: Config; databaseUrl: string; logger: Logger };

/** docs/performance.md has the measurements behind the first two. */
const GROUP_COMMIT_LIMITS = {
  batches: 2,
  batchPlants: 500,
  batchBytes: 4_194_304,
  queueBytes: 67_108_864,
};

/** What of the shutdown's time is left to close the database after the requests are answered, in ms. */
const DATABASE_CLOSE_TIME = 1000;

/** The store, put together: the process and the tests start and stop the same one. */
export const createService = ({ config, databaseUrl, logger }: ServiceOptions) => {
  const database = createDatabase({
    url: databaseUrl,
    statementTimeout: config.requestTimeout,
    connections: config.databaseConnections,
    onConnectionLost: (error) => logger.warn({ err: error }, 'a connection to the database was lost'),
  });
  const tokens = createTokenRepository({ database });
  const plants = createPlantRepository({ database });
  const app = createApp({
    logger,
    plants: createGroupCommit({
      store: (batch) => storeBatch(batch, plants.insert),
      limits: { ...GROUP_COMMIT_LIMITS, queuePlants: config.queueLimit, deadline: config.requestTimeout },
    }),
    verifier: createTokenVerifier({ tokens }),
    assertReady: () => assertMigrated(database),
    basePath: config.basePath,
    bodyLimit: config.bodyLimit,
  });
  const server = createHttpServer({ handler: app, requestTimeout: config.requestTimeout });
  return {
    tokens,
    /** @returns the port that it listens on */
    start: () => server.listen(config.host, config.port),
    /** Answers what is under way, or cuts it off when the time to stop is nearly over, and lets go of everything. */
    stop: async () => {
      await server.close(Math.max(0, config.shutdownTimeout - DATABASE_CLOSE_TIME));
      await database.$disconnect();
    },
  };
};
