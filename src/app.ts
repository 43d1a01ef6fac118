import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { handleError, rejectUnknownPath } from './http/handle-error.ts';
import { createHealthRoutes } from './http/health-routes.ts';
import { createJsonBodyReader } from './http/read-json-body.ts';
import { createRequestLog } from './http/request-log.ts';
import { requireHost } from './http/require-host.ts';
import { createPlantRoutes, type PlantCreator } from './plants/plant-routes.ts';
import { createRequireScope } from './tokens/require-scope.ts';
import type { TokenVerifier } from './tokens/token-verifier.ts';

type AppOptions = {
  logger: Logger;
  plants: PlantCreator;
  verifier: TokenVerifier;
  assertReady: () => Promise<void>;
  /** The path of the contract's base URL, without a slash at its end. */
  basePath: string;
  /** In bytes. */
  bodyLimit: number;
};

/** Everything between a request and its answer, from top to bottom. */
export const createApp = ({ logger, plants, verifier, assertReady, basePath, bodyLimit }: AppOptions): Express => {
  const requireScope = createRequireScope({ verifier });
  const readJsonBody = createJsonBodyReader({ limit: bodyLimit });

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  app.use(createRequestLog({ logger }));
  app.use(requireHost);
  app.use(
    basePath || '/',
    createPlantRoutes({ plants, requireWriteScope: requireScope('plants:write'), readJsonBody }),
  );
  app.use(createHealthRoutes({ assertReady }));
  app.use(rejectUnknownPath);
  app.use(handleError);
  return app;
};
