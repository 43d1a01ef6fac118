import type { Request, RequestHandler, Response, Router } from 'express';
import { type BodyLimits, createBodyReader } from '../bodies/read-json-body.ts';
import { StoreError } from '../errors.ts';
import { addGet, handleOtherMethods } from '../http/handle-error.ts';
import { parseParameters } from '../http/parse-request.ts';
import { evaluatePreconditions, parsePreconditions } from '../http/preconditions.ts';
import { sendJsonText } from '../http/send-json.ts';
import { type KeyReader, readIdempotencyKey } from '../idempotency/keyed-request.ts';
import {
  cursorAfter,
  manyPlantsQuerySchema,
  newPlantSchema,
  noQuerySchema,
  type Plant,
  type PlantChange,
  plantCountQuerySchema,
  plantPatchSchema,
  plantPathSchema,
  plantQuerySchema,
  plantSchema,
  preconditionFailed,
  type StoredPlant,
} from './plant.ts';
import { entityTag, representPage, representPlant } from './plant-representation.ts';
import type { PlantService } from './plant-service.ts';

export type PlantRoutesOptions = {
  plants: PlantService;
  requireScope: (...scopes: ('plants:read' | 'plants:write')[]) => RequestHandler;
  readKey: KeyReader;
  bodies: BodyLimits;
};

/** A JSON Merge Patch (RFC 7396). Many clients send any JSON as application/json. */
const PATCH_TYPES = ['application/merge-patch+json', 'application/json'];
const acceptPatch = { 'Accept-Patch': PATCH_TYPES.join(', ') };

/** Adds the operations on plants (specification §4). The token is checked before the body is read. */
export const addPlantRoutes = (options: PlantRoutesOptions) => (router: Router) => {
  const { plants, requireScope, readKey, bodies } = options;
  const [requireReadScope, requireWriteScope] = [requireScope('plants:read'), requireScope('plants:write')];
  // For PATCH: its response contains the stored plant, so it also reads.
  const requireBothScopes = requireScope('plants:read', 'plants:write');
  const { hold } = bodies;
  const readBody = createBodyReader(bodies);
  const readPatch = (request: Request, response: Response) =>
    readBody(request, response, plantPatchSchema, PATCH_TYPES);
  const readId = ({ params, query }: Request, { locals }: Response) => {
    const { id } = parseParameters(plantPathSchema, params);
    locals.plantId = id;
    // Such as `dryRun`, which operations on many plants have.
    parseParameters(noQuerySchema, query);
    return id;
  };
  /** Whether a change must not be made any more. */
  const isAbandoned = (response: Response) => () => response.destroyed || response.locals.isDropped === true;
  const sendPlant = (response: Response, { name, tag }: StoredPlant) =>
    sendJsonText(response, JSON.stringify({ name, tag } satisfies Plant), hold);
  /** @param readChange reads the body, which is not asked for if the request is wrong without it */
  const update = async (request: Request, response: Response, readChange: () => Promise<PlantChange>) => {
    const id = readId(request, response);
    const preconditions = parsePreconditions(request);
    const change = await readChange();
    const keyed = await readKey(request, response, () => JSON.stringify(change));
    const plant = await plants.change({ id, change, preconditions, keyed }, isAbandoned(response));
    sendPlant(response, plant as StoredPlant);
  };
  const sendCount = (response: Response, count: Record<string, number>) =>
    sendJsonText(response, JSON.stringify(count), hold);
  /** Deletes many plants, or changes them. @param readChange see `update` */
  const changeMany = async (request: Request, response: Response, readChange?: () => Promise<PlantChange>) => {
    const { dryRun, ...many } = readMany(request);
    const change = await readChange?.();
    const rows = await plants[dryRun ? 'count' : 'changeMany']({ ...many, change }, isAbandoned(response));
    if (!dryRun) response.locals.progress = { rows };
    sendCount(response, { [change ? 'updated' : 'deleted']: rows });
  };

  router
    .route('/plants')
    .get(requireReadScope, async (request, response) => {
      const { cursor: after, ...query } = parseParameters(plantQuerySchema, request.query);
      const page = await plants.list({ after, ...query }, isAbandoned(response));
      const lastId = page.ids.at(-1);
      if (page.hasNext && lastId !== undefined) response.set('Link', linkToNext(request, cursorAfter(lastId)));
      sendJsonText(response, representPage(page), hold);
    })
    .post(requireWriteScope, async (request, response) => {
      const plant = await readBody(request, response, newPlantSchema);
      response.locals.plantId = plant.id;
      const keyed = await readKey(request, response, () => representPlant(plant));
      await plants.create(plant, isAbandoned(response), keyed);
      sendPlant(response, plant);
    })
    .patch(requireBothScopes, (request, response) => changeMany(request, response, () => readPatch(request, response)))
    .delete(requireWriteScope, (request, response) => changeMany(request, response))
    .all(handleOtherMethods(acceptPatch));

  addGet(router, '/plants/count', requireReadScope, async (request, response) => {
    const filter = parseParameters(plantCountQuerySchema, request.query);
    const count = await plants.count({ filter }, isAbandoned(response));
    sendCount(response, { count });
  });

  router
    .route('/plants/:id')
    .get(requireReadScope, async (request, response) => {
      const id = readId(request, response);
      const plant = await plants.find(id, isAbandoned(response));
      const tag = entityTag(plant);
      const outcome = evaluatePreconditions(request, tag);
      if (outcome === 'failed') throw preconditionFailed(id, parsePreconditions(request));
      response.setHeader('ETag', tag);
      response.setHeader('Cache-Control', 'private, no-cache');
      if (outcome === 'notModified') response.status(304).end();
      else sendJsonText(response, representPlant(plant), hold);
    })
    .put(requireWriteScope, async (request, response) => {
      if (request.headers['content-range'] !== undefined) throw new StoreError('parameterWrong', NOT_PARTIAL);
      await update(request, response, async () => {
        const { name, tag = null } = await readBody(request, response, plantSchema);
        return { name, tag };
      });
    })
    .patch(requireBothScopes, (request, response) => update(request, response, () => readPatch(request, response)))
    .delete(requireWriteScope, async (request, response) => {
      const id = readId(request, response);
      const preconditions = parsePreconditions(request);
      const keyed = await readKey(request, response, () => '');
      await plants.change({ id, change: 'delete', preconditions, keyed }, isAbandoned(response));
      response.status(204).end();
    })
    .all(handleOtherMethods(acceptPatch));
};

/** RFC 9110 §14.5. */
const NOT_PARTIAL = 'PUT replaces the whole plant, so it takes no Content-Range. Use PATCH.';

/** Reads which plants a request changes. @throws {StoreError} 1005, 1300, 1303 */
const readMany = (request: Request) => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if ((ifMatch ?? ifNoneMatch) !== undefined)
    throw new StoreError('parameterWrong', 'If-Match and If-None-Match are for a single plant: /plants/{id}.');
  if (readIdempotencyKey(request) !== undefined)
    throw new StoreError('keyNotSupported', 'A change of many plants takes no Idempotency-Key. Nothing was changed.');
  const { limit, dryRun, ...filter } = parseParameters(manyPlantsQuerySchema, request.query);
  return { filter, limit, dryRun };
};

/** A link to the next page of the same list (RFC 8288), relative to it, since a proxy may strip a prefix of its path. */
const linkToNext = ({ path, url }: Request, cursor: string): string => {
  const parameters = new URLSearchParams(url.slice(path.length));
  parameters.set('cursor', cursor);
  return `<?${parameters}>; rel="next"`;
};
