import { type RequestHandler, Router } from 'express';
import { rejectOtherMethods } from '../http/reject-other-methods.ts';
import { sendJson } from '../http/send-json.ts';
import { type NewPlant, type Plant, parseNewPlant } from './plant.ts';

/** Stores a plant, unless `isAbandoned` says before it leaves that nobody waits for the outcome any more. */
export type PlantCreator = { create(plant: NewPlant, isAbandoned: () => boolean): Promise<void> };

type PlantRoutesOptions = {
  plants: PlantCreator;
  requireWriteScope: RequestHandler;
  readJsonBody: RequestHandler;
};

/** `POST /plants` (specification §4). The token is checked before the body is read. */
export const createPlantRoutes = ({ plants, requireWriteScope, readJsonBody }: PlantRoutesOptions) => {
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route('/plants')
    .post(requireWriteScope, readJsonBody, async (request, response) => {
      const { id, ...plant } = parseNewPlant(request.body);
      await plants.create({ id, ...plant }, () => response.destroyed);
      sendJson(response, plant satisfies Plant);
    })
    .all(rejectOtherMethods('POST'));
  return router;
};
