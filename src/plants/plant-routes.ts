import { type RequestHandler, Router } from 'express';
import { rejectOtherMethods } from '../http/reject-other-methods.ts';
import { type NewPlant, type Plant, parseNewPlant } from './plant.ts';

type PlantRoutesOptions = {
  plants: { create(plant: NewPlant): Promise<void> };
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
      await plants.create({ id, ...plant });
      response.json(plant satisfies Plant);
    })
    .all(rejectOtherMethods('POST'));
  return router;
};
