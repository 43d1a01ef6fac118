import express, { type Express, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { addDocumentationRoutes, createIndexRoutes } from './documentation/documentation-routes.ts';
import type { Hold } from './http/byte-budget.ts';
import { removeForwardedPorts } from './http/client-address.ts';
import { createErrorHandler, rejectUnknownPath } from './http/handle-error.ts';
import { checkHeaders, createCors, setDefaultHeaders } from './http/headers.ts';
import { parseQuery } from './http/parse-request.ts';
import { createRequestLog } from './observability/request-log.ts';
import { describeAt } from './openapi-document.ts';
import { toStoreError } from './to-store-error.ts';

type AppOptions = {
  config: Pick<Config, 'basePath' | 'corsOrigins' | 'trustProxy'>;
  logger: Logger;
  /** Middleware for metrics and traces. */
  observers: readonly RequestHandler[];
  /** Add the operations on plants, in the order in which paths are matched. */
  features: readonly ((router: Router) => void)[];
  health: Router;
  hold: Hold;
};

/** The middleware and routes, in the order in which they handle a request. */
export const createApp = ({ config, logger, observers, features, health, hold }: AppOptions): Express => {
  const { basePath, corsOrigins, trustProxy } = config;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('trust proxy', trustProxy);
  app.use(removeForwardedPorts);

  app.use(createRequestLog(logger));
  for (const observer of observers) app.use(observer);
  app.use(setDefaultHeaders);
  if (corsOrigins.length > 0) app.use(createCors({ origins: corsOrigins }));
  app.use(checkHeaders);
  // One router, so that no request has to pass several.
  const router = Router({ strict: true, caseSensitive: true });
  for (const addRoutes of features) addRoutes(router);
  addDocumentationRoutes(router, { basePath, document: describeAt(basePath) });
  app.use(basePath || '/', router);
  app.use(createIndexRoutes({ basePath }));
  app.use(health);
  app.use(rejectUnknownPath);
  app.use(createErrorHandler({ basePath, toStoreError, hold }));
  return app;
};
