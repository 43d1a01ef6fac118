import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { createApiPageRoutes } from './api-page/api-page-routes.ts';
import { createErrorPageRoutes } from './api-page/error-page-routes.ts';
import { createIndexRoutes } from './api-page/index-routes.ts';
import type { BodySlots } from './http/body-slots.ts';
import { checkHeaders } from './http/check-headers.ts';
import { createCors } from './http/cors.ts';
import { setDefaultHeaders } from './http/default-headers.ts';
import { createErrorHandler, rejectUnknownPath } from './http/handle-error.ts';
import { createHealthRoutes } from './http/health-routes.ts';
import type { OutputBudget } from './http/output-budget.ts';
import { parseQuery } from './http/parameters.ts';
import { createJsonBodyReader } from './http/read-json-body.ts';
import { createRequestLog } from './http/request-log.ts';
import type { FailedTokens } from './limits/failed-tokens.ts';
import type { RateLimit } from './limits/rate-limit.ts';
import { createOpenApiRoutes } from './openapi/openapi-routes.ts';
import { createPlantRoutes } from './plants/plant-routes.ts';
import type { PlantStore } from './plants/plant-store.ts';
import { createRequireScope } from './tokens/require-scope.ts';
import type { TokenVerifier } from './tokens/token-verifier.ts';

type AppOptions = {
  logger: Logger;
  /** What looks at each request from outside. */
  observers: readonly RequestHandler[];
  plants: PlantStore;
  verifier: TokenVerifier;
  failedTokens: FailedTokens;
  /** Undefined: there is no limit. */
  rateLimit: RateLimit | undefined;
  assertReady: () => Promise<void>;
  /** The path of the contract's base URL, without a slash at its end. */
  basePath: string;
  /** In bytes. */
  bodyLimit: number;
  bodySlots: BodySlots;
  outputBudget: OutputBudget;
  /** The proxies whose X-Forwarded-For is believed: how many there are, or their addresses. */
  trustProxy: number | readonly string[];
  /** The origins of pages that may use the store from a browser. */
  corsOrigins: readonly string[];
};

/** Everything between a request and its answer, from top to bottom. */
export const createApp = (options: AppOptions): Express => {
  const { logger, observers, plants, assertReady, basePath, corsOrigins } = options;
  const bodies = { limit: options.bodyLimit, slots: options.bodySlots };
  const requireScope = createRequireScope(options);

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('trust proxy', options.trustProxy);

  app.use(createRequestLog({ logger }));
  for (const observer of observers) app.use(observer);
  app.use(setDefaultHeaders);
  if (corsOrigins.length > 0) app.use(createCors({ origins: corsOrigins }));
  app.use(checkHeaders);
  app.use(
    basePath || '/',
    createPlantRoutes({
      plants,
      requireReadScope: requireScope('plants:read'),
      requireWriteScope: requireScope('plants:write'),
      requireBothScopes: requireScope('plants:read', 'plants:write'),
      readJson: createJsonBodyReader({ ...bodies, mediaType: 'application/json' }),
      readMergePatch: createJsonBodyReader({ ...bodies, mediaType: 'application/merge-patch+json' }),
      outputBudget: options.outputBudget,
    }),
  );
  app.use(
    basePath || '/',
    createOpenApiRoutes({ basePath }),
    createApiPageRoutes(),
    createErrorPageRoutes({ basePath }),
  );
  app.use(createIndexRoutes({ basePath }));
  app.use(createHealthRoutes({ assertReady }));
  app.use(rejectUnknownPath);
  app.use(createErrorHandler({ basePath }));
  return app;
};
