import { errors } from '../errors.ts';
import { idempotent } from '../idempotency/idempotency-openapi.ts';
import { notModified, type Operation, type Paths, preconditions } from '../openapi/describe-paths.ts';
import { json, parametersOf, reference, toJsonSchema } from '../openapi/openapi.ts';
import { newPlantSchema, plantPatchSchema, plantSchema } from './plant.ts';
import { plantPathSchema, plantQuerySchema } from './plant-parameters.ts';
import { snippets } from './plant-snippets.ts';

/** The schemas that the operations refer to. */
export const plantSchemas = {
  NewPlant: toJsonSchema(newPlantSchema),
  Plant: toJsonSchema(plantSchema),
  PlantPatch: toJsonSchema(plantPatchSchema),
  StoredPlant: toJsonSchema(newPlantSchema),
};

const ginkgo = { name: 'Ginkgo', tag: 'Ginkgo biloba' };
const fir = { name: 'Fir' };

/** Examples with and without a tag. */
const examples = (first: object, second: object) => ({
  plant: { summary: 'A plant', value: first },
  withoutTag: { summary: 'A plant without a tag', value: second },
});
const plants = examples(ginkgo, fir);
const plantsWithIds = examples({ id: 17, ...ginkgo }, { id: 18, ...fir });

/** Markdown that Swagger UI shows closed. */
const listSnippets = Object.entries(snippets)
  .map(([language, code]) => `<details><summary>${language}</summary>\n\n\`\`\`\n${code}\n\`\`\`\n\n</details>`)
  .join('\n\n');

const createPlant: Operation = {
  operationId: 'createPlant',
  summary: 'Create a plant',
  description:
    'Creates a plant under an id that the client chooses, and responds once it is committed. Never overwrites: an id ' +
    `that is taken is an error, even for an identical plant.\n\n${listSnippets}`,
  scopes: ['plants:write'],
  parameters: idempotent.parameters,
  body: json('NewPlant', plantsWithIds),
  responses: { 200: { description: 'The plant is stored.', content: json('Plant', plants) } },
  errors: [errors.idTaken, ...idempotent.errors],
};

const listPlants: Operation = {
  operationId: 'listPlants',
  summary: 'List plants',
  description:
    'Returns plants in the order of their ids, one page at a time. The Link header has the URL of the next page; the ' +
    'last page has none. Concurrent inserts and deletes never make a listing skip or repeat other plants.',
  scopes: ['plants:read'],
  parameters: parametersOf('query', plantQuerySchema),
  responses: {
    200: {
      description: 'A page of plants, which may be empty.',
      headers: ['Link'],
      content: json(
        { type: 'array', items: reference('schemas', 'StoredPlant') },
        {
          page: { summary: 'A page', value: Object.values(plantsWithIds).map(({ value }) => value) },
          empty: { summary: 'No plants', value: [] },
        },
      ),
    },
  },
  errors: [errors.parameterWrong, errors.searchTooSlow],
};

/** What the operations on `/plants/{id}` share. */
const onePlant = {
  parameters: [...parametersOf('path', plantPathSchema), ...preconditions],
  errors: [errors.parameterWrong, errors.plantUnknown, errors.preconditionFailed],
};
const changeOnePlant = {
  parameters: [...onePlant.parameters, ...idempotent.parameters],
  errors: [...onePlant.errors, ...idempotent.errors],
};
const changed = { 200: { description: 'The plant as it is now.', content: json('Plant', plants) } };

const getPlant: Operation = {
  operationId: 'getPlant',
  summary: 'Get a plant',
  scopes: ['plants:read'],
  responses: {
    200: {
      description: 'The plant, with its id.',
      headers: ['ETag'],
      content: json('StoredPlant', plantsWithIds),
    },
    304: notModified,
  },
  ...onePlant,
};

const replacePlant: Operation = {
  operationId: 'replacePlant',
  summary: 'Replace a plant',
  description:
    'Replaces the name and the tag of a stored plant. Without a tag, the plant has none. Never creates a plant.',
  scopes: ['plants:write'],
  body: json('Plant', plants),
  responses: changed,
  ...changeOnePlant,
};

const plantPatch = {
  schema: reference('schemas', 'PlantPatch'),
  examples: {
    name: { summary: 'Another name', value: { name: 'Maidenhair tree' } },
    tag: { summary: 'Remove the tag', value: { tag: null } },
  },
};

const patchPlant: Operation = {
  operationId: 'patchPlant',
  summary: 'Change a plant',
  description:
    'Applies a JSON Merge Patch (RFC 7396): replaces the members that it has, and removes the tag if it is null. The ' +
    'response has the whole plant, so the token needs both scopes.',
  scopes: ['plants:read', 'plants:write'],
  body: { 'application/merge-patch+json': plantPatch, 'application/json': plantPatch },
  responses: changed,
  ...changeOnePlant,
};

const deletePlant: Operation = {
  operationId: 'deletePlant',
  summary: 'Delete a plant',
  scopes: ['plants:write'],
  responses: { 204: { description: 'The plant is deleted.' } },
  ...changeOnePlant,
};

/** The operations of addPlantRoutes. */
export const plantPaths: Paths = {
  '/plants': { post: createPlant, get: listPlants },
  '/plants/{id}': { get: getPlant, put: replacePlant, patch: patchPlant, delete: deletePlant },
};
