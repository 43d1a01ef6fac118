import { type Request, type RequestHandler, type Response, Router } from 'express';
import { answerOtherMethods } from '../http/answer-other-methods.ts';
import type { OutputBudget } from '../http/output-budget.ts';
import { parseParameters } from '../http/parameters.ts';
import { parsePreconditions } from '../http/preconditions.ts';
import type { JsonBodyReader } from '../http/read-json-body.ts';
import { sendJson, sendJsonText } from '../http/send-json.ts';
import { type Plant, parseNewPlant, parsePlant, parsePlantPatch, type StoredPlant } from './plant.ts';
import { PlantChangedError } from './plant-errors.ts';
import { cursorAfter, plantPathSchema, plantQuerySchema } from './plant-parameters.ts';
import { entityTag, representPlant } from './plant-representation.ts';
import type { PlantCondition, PlantStore } from './plant-store.ts';

type PlantRoutesOptions = {
  plants: PlantStore;
  requireReadScope: RequestHandler;
  requireWriteScope: RequestHandler;
  /** A patch is answered with what is stored, also where it changes nothing: it reads as well. */
  requireBothScopes: RequestHandler;
  readJson: JsonBodyReader;
  readMergePatch: JsonBodyReader;
  outputBudget: OutputBudget;
};

/** The operations on plants (specification §4). The token is checked before the body is read. */
export const createPlantRoutes = (options: PlantRoutesOptions) => {
  const { plants, requireReadScope, requireWriteScope, requireBothScopes, readJson, readMergePatch, outputBudget } =
    options;
  const router = Router({ strict: true, caseSensitive: true });
  // Functions of their own: a handler that waits for the database keeps everything that it has seen in memory.
  const readNewPlant = async (request: Request, response: Response) => parseNewPlant(await readJson(request, response));
  const readPlant = async (request: Request, response: Response) => parsePlant(await readJson(request, response));
  const readPlantPatch = async (request: Request, response: Response) =>
    parsePlantPatch(await readMergePatch(request, response));

  router
    .route('/plants')
    .get(requireReadScope, async (request, response) => {
      const { limit, cursor, tag, q } = parseParameters(plantQuerySchema, request.query);
      const { json, lastId, hasNext } = await plants.list(
        { limit, after: cursor, tag, nameContains: q },
        () => response.destroyed,
      );
      if (hasNext && lastId !== null) response.set('Link', linkToNext(request, cursorAfter(lastId)));
      sendJsonText(response, json, outputBudget);
    })
    .post(requireWriteScope, async (request, response) => {
      const plant = await readNewPlant(request, response);
      await plants.create(plant, () => response.destroyed);
      sendPlant(response, plant);
    })
    .all(answerOtherMethods({ Allow: 'GET, HEAD, POST, OPTIONS' }));

  router
    .route('/plants/:id')
    .get(requireReadScope, async (request, response) => {
      const { id } = parseParameters(plantPathSchema, request.params);
      const json = representPlant(await plants.find(id, () => response.destroyed));
      const tag = entityTag(json);
      const outcome = parsePreconditions(request)?.(tag);
      if (outcome === 'failed') throw new PlantChangedError(id);
      response.setHeader('ETag', tag);
      response.setHeader('Cache-Control', 'private, no-cache');
      if (outcome === 'notModified') response.status(304).end();
      else sendJsonText(response, json, outputBudget);
    })
    .put(requireWriteScope, async (request, response) => {
      const { name, tag = null } = await readPlant(request, response);
      const { id } = parseParameters(plantPathSchema, request.params);
      sendPlant(response, await plants.update(id, { name, tag }, conditionOf(request)));
    })
    .patch(requireBothScopes, async (request, response) => {
      const change = await readPlantPatch(request, response);
      const { id } = parseParameters(plantPathSchema, request.params);
      sendPlant(response, await plants.update(id, change, conditionOf(request)));
    })
    .delete(requireWriteScope, async (request, response) => {
      const { id } = parseParameters(plantPathSchema, request.params);
      await plants.delete(id, conditionOf(request));
      response.status(204).end();
    })
    .all(
      answerOtherMethods({
        Allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
        'Accept-Patch': 'application/merge-patch+json',
      }),
    );
  return router;
};

const sendPlant = (response: Response, { name, tag }: StoredPlant) => sendJson(response, { name, tag } satisfies Plant);

const conditionOf = (request: Request): PlantCondition | undefined => {
  const evaluate = parsePreconditions(request);
  return evaluate && ((plant) => evaluate(entityTag(representPlant(plant))) === 'met');
};

/** RFC 8288: the same list, from where this page ends. */
const linkToNext = ({ baseUrl, path, url }: Request, cursor: string): string => {
  const parameters = new URLSearchParams(url.slice(path.length));
  parameters.set('cursor', cursor);
  return `<${baseUrl}${path}?${parameters}>; rel="next"`;
};
