import type { ObserveQueue } from '../batching/batch-queue.ts';
import type { Database } from '../database/database.ts';
import type { ExpiredRows } from '../database/sweep.ts';
import { createKeyReader } from '../idempotency/keyed-request.ts';
import { expiredResponses } from '../idempotency/stored-responses.ts';
import { createPlantRepository } from './plant-repository.ts';
import { addPlantRoutes, type PlantRoutesOptions } from './plant-routes.ts';
import { createPlantService, type PlantLimits } from './plant-service.ts';

type PlantsOptions = Pick<PlantRoutesOptions, 'requireScope' | 'bodies'> & {
  database: Database;
  limits: PlantLimits;
  /** Of the responses to requests with an Idempotency-Key, in ms. */
  retention: number;
  observeQueue: ObserveQueue;
};

export const createPlants = (options: PlantsOptions) => {
  const { database, limits, retention, observeQueue, requireScope, bodies } = options;
  const repository = createPlantRepository({ database, retention });
  const plants = createPlantService({ repository, limits, observeQueue });
  const { isDistributed } = repository;
  // Where plants are distributed no response is stored, and the workers do not have the table.
  const expired: ExpiredRows = { ...expiredResponses, mayExist: async () => !(await isDistributed()) };
  return {
    addRoutes: addPlantRoutes({ plants, requireScope, readKey: createKeyReader({ isDistributed }), bodies }),
    inUse: plants.inUse,
    expired,
  };
};
