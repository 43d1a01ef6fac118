import express, { type Express, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import { errorCodes, toApiError } from './api-errors.ts';
import type { BodySlots } from './bodies/body-slots.ts';
import { createBodyReader, parseJson } from './bodies/read-json-body.ts';
import { addDocumentationRoutes } from './documentation/documentation-routes.ts';
import { createIndexRoutes } from './documentation/index-routes.ts';
import type { PlantExports } from './exports/export-plants.ts';
import { addExportRoutes } from './exports/export-routes.ts';
import { checkHeaders } from './http/check-headers.ts';
import { createErrorHandler, rejectUnknownPath } from './http/handle-error.ts';
import { parseQuery } from './http/parse-request.ts';
import { createCors, setDefaultHeaders } from './http/response-headers.ts';
import type { OutputBudget } from './http/send-json.ts';
import { createImportBodyReader } from './imports/import-body.ts';
import { addImportRoutes } from './imports/import-routes.ts';
import type { PlantImporter } from './imports/plant-importer.ts';
import { createRequestLog } from './observability/request-log.ts';
import { createOpenApiDocument } from './openapi-document.ts';
import { addPlantRoutes } from './plants/plant-routes.ts';
import type { PlantService } from './plants/plant-service.ts';
import type { RequireScope } from './tokens/require-scope.ts';

type AppOptions = {
  logger: Logger;
  /** Middleware for metrics and traces. */
  observers: readonly RequestHandler[];
  plants: PlantService;
  plantExports: PlantExports;
  /** How long the client of an export may read nothing, in ms. */
  exportStallTimeout: number;
  importer: PlantImporter;
  requireScope: RequireScope;
  health: Router;
  /** The path of the base URL, without a trailing slash. */
  basePath: string;
  /** The maximum size of a request body, in bytes. */
  bodyLimit: number;
  bodySlots: BodySlots;
  /** How long a client may pause within a body that is streamed, in ms. */
  pauseTimeout: number;
  outputBudget: OutputBudget;
  /** The proxies whose X-Forwarded-For is trusted: their number or their addresses. */
  trustProxy: number | readonly string[];
  /** The origins whose pages may use the service from a browser. */
  corsOrigins: readonly string[];
};

/** The middleware and routes, in the order in which they handle a request. */
export const createApp = (options: AppOptions): Express => {
  const { logger, observers, plants, requireScope, health, basePath, corsOrigins, outputBudget } = options;
  const bodies = { limit: options.bodyLimit, slots: options.bodySlots, parse: (bytes: Buffer) => parseJson(bytes) };

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
  // One router, so that no request has to pass several.
  const router = Router({ strict: true, caseSensitive: true });
  addExportRoutes(router, {
    plantExports: options.plantExports,
    requireReadScope: requireScope('plants:read'),
    stallTimeout: options.exportStallTimeout,
  });
  addImportRoutes(router, {
    importer: options.importer,
    requireWriteScope: requireScope('plants:write'),
    readRows: createImportBodyReader({
      bodyLimit: options.bodyLimit,
      bodySlots: options.bodySlots,
      pauseTimeout: options.pauseTimeout,
    }),
    outputBudget,
  });
  addPlantRoutes(router, {
    plants,
    requireReadScope: requireScope('plants:read'),
    requireWriteScope: requireScope('plants:write'),
    requireBothScopes: requireScope('plants:read', 'plants:write'),
    readJson: createBodyReader({ ...bodies, mediaType: 'application/json' }),
    readMergePatch: createBodyReader({ ...bodies, mediaType: 'application/merge-patch+json' }),
    outputBudget,
  });
  addDocumentationRoutes(router, { basePath, errorCodes, document: createOpenApiDocument({ basePath }) });
  app.use(basePath || '/', router);
  app.use(createIndexRoutes({ basePath }));
  app.use(health);
  app.use(rejectUnknownPath);
  app.use(createErrorHandler({ basePath, toApiError }));
  return app;
};
