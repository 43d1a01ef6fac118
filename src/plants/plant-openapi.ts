import { commonErrors } from '../http/common-errors.ts';
import { conditionalGet, notModified, type Operation, type Path } from '../openapi/describe-paths.ts';
import { schemaReference, toJsonSchema } from '../openapi/openapi.ts';
import { newPlantSchema, plantPatchSchema, plantSchema } from './plant.ts';
import { plantErrorCodes } from './plant-api-errors.ts';
import { plantPath, plantPreconditions, plantQuery } from './plant-openapi-parameters.ts';

/** The schemas that the operations refer to. */
export const plantSchemas = {
  NewPlant: toJsonSchema(newPlantSchema),
  Plant: toJsonSchema(plantSchema),
  PlantPatch: toJsonSchema(plantPatchSchema),
  StoredPlant: toJsonSchema(newPlantSchema),
};

const TAGS: Operation['tags'] = ['Plants'];
const ginkgo = { name: 'Ginkgo', tag: 'Ginkgo biloba' };
const fir = { name: 'Fir' };

/** Examples with and without a tag. The arguments are members to add to them, such as an id. */
const examples = (ofGinkgo = {}, ofFir = ofGinkgo) => ({
  plant: { summary: 'A plant', value: { ...ofGinkgo, ...ginkgo } },
  withoutTag: { summary: 'A plant without a tag', value: { ...ofFir, ...fir } },
});

const plantResponse = (description: string): Operation['responses'][number] => ({
  description,
  content: { 'application/json': { schema: schemaReference('Plant'), examples: examples() } },
});

/** The errors of operations on `/plants/{id}`. */
const ONE_PLANT_ERRORS = [commonErrors.parameterWrong, plantErrorCodes.plantUnknown, commonErrors.preconditionFailed];

/** The operations of addPlantRoutes. */
export const plantPaths = {
  '/plants': {
    get: {
      operationId: 'listPlants',
      tags: TAGS,
      summary: 'List plants',
      description:
        'Returns plants in the order of their ids, one page at a time. The Link header has the URL of the next page; the ' +
        'last page has none. Concurrent inserts and deletes never make a listing skip or repeat other plants.',
      scopes: ['plants:read'],
      parameters: plantQuery,
      responses: {
        200: {
          description: 'A page of plants, which may be empty.',
          headers: ['Link'],
          content: {
            'application/json': {
              schema: { type: 'array', items: schemaReference('StoredPlant') },
              examples: {
                page: {
                  summary: 'A page',
                  value: [
                    { id: 17, ...ginkgo },
                    { id: 18, ...fir },
                  ],
                },
                empty: { summary: 'No plants', value: [] },
              },
            },
          },
        },
      },
      errors: [commonErrors.parameterWrong, plantErrorCodes.searchTooSlow],
    },
    post: {
      operationId: 'createPlant',
      tags: TAGS,
      summary: 'Create a plant',
      description:
        'Creates a plant under an id that the client chooses, and responds once it is committed. Never overwrites: an id ' +
        'that is taken is an error, even for an identical plant.',
      scopes: ['plants:write'],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: schemaReference('NewPlant'), examples: examples({ id: 17 }, { id: 18 }) },
        },
      },
      responses: { 200: plantResponse('The plant is stored.') },
      errors: [plantErrorCodes.idTaken],
    },
  },
  '/plants/{id}': {
    get: {
      operationId: 'getPlant',
      tags: TAGS,
      summary: 'Get a plant',
      scopes: ['plants:read'],
      parameters: [plantPath, ...conditionalGet],
      responses: {
        200: {
          description: 'The plant, with its id.',
          headers: ['ETag'],
          content: {
            'application/json': { schema: schemaReference('StoredPlant'), examples: examples({ id: 17 }, { id: 18 }) },
          },
        },
        304: notModified,
      },
      errors: ONE_PLANT_ERRORS,
    },
    put: {
      operationId: 'replacePlant',
      tags: TAGS,
      summary: 'Replace a plant',
      description:
        'Replaces the name and the tag of a stored plant. Without a tag, the plant has none. Never creates a plant.',
      scopes: ['plants:write'],
      parameters: [plantPath, ...plantPreconditions],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaReference('Plant'), examples: examples() } },
      },
      responses: { 200: plantResponse('The plant as it is now.') },
      errors: ONE_PLANT_ERRORS,
    },
    patch: {
      operationId: 'patchPlant',
      tags: TAGS,
      summary: 'Change a plant',
      description:
        'Applies a JSON Merge Patch (RFC 7396): replaces the members that it has, and removes the tag if it is null. The ' +
        'response has the whole plant, so the token needs both scopes.',
      scopes: ['plants:read', 'plants:write'],
      parameters: [plantPath, ...plantPreconditions],
      requestBody: {
        required: true,
        content: {
          'application/merge-patch+json': {
            schema: schemaReference('PlantPatch'),
            examples: {
              name: { summary: 'Another name', value: { name: 'Maidenhair tree' } },
              tag: { summary: 'Remove the tag', value: { tag: null } },
            },
          },
        },
      },
      responses: { 200: plantResponse('The plant as it is now.') },
      errors: ONE_PLANT_ERRORS,
    },
    delete: {
      operationId: 'deletePlant',
      tags: TAGS,
      summary: 'Delete a plant',
      scopes: ['plants:write'],
      parameters: [plantPath, ...plantPreconditions],
      responses: { 204: { description: 'The plant is deleted.' } },
      errors: ONE_PLANT_ERRORS,
    },
  },
} satisfies Record<string, Path>;
