import type { Request, RequestHandler, Response } from 'express';
import type { BulkTrace } from '../batching/bulk.ts';
import { createPlantExports } from './export-plants.ts';
import { addExportRoutes } from './export-routes.ts';

type ExportsOptions = {
  database: { url: string; connectTimeout: number };
  /** `count`: of those in progress; the others: see `RequestLimits`. */
  limits: { count: number; clientCheckInterval: number; stallTimeout: number; timeout: number };
  requireReadScope: RequestHandler;
  watchToken: (request: Request, response: Response) => AbortSignal;
  trace?: BulkTrace | undefined;
};

/** The exports of a process. Each has its own connection. */
export const createExports = ({ database, limits, requireReadScope, watchToken, trace }: ExportsOptions) => {
  const { count: limit, clientCheckInterval, stallTimeout, timeout } = limits;
  const checked = { ...database, clientCheckInterval };
  const plantExports = createPlantExports({ database: checked, limit, timeout, trace });
  return {
    addRoutes: addExportRoutes({ plantExports, requireReadScope, watchToken, stallTimeout }),
    inProgress: plantExports.inProgress,
    rows: plantExports.rows,
  };
};
