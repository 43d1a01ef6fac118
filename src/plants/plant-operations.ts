import { ifMatch, ifNoneMatch, notModified } from '../openapi/conditional-get.ts';
import { errorResponses, errorsOf, rateLimitHeaders } from '../openapi/error-responses.ts';
import { headersOf } from '../openapi/headers.ts';
import { type Operation, type PathItem, type Response, schemaReference } from '../openapi/openapi.ts';
import { toJsonSchema } from '../openapi/to-json-schema.ts';
import { newPlantSchema, plantPatchSchema, plantSchema } from './plant.ts';
import { plantPath, plantPreconditions, plantQuery } from './plant-parameter-descriptions.ts';

/** The schemas that the operations refer to. */
export const plantSchemas = {
  NewPlant: toJsonSchema(newPlantSchema),
  Plant: toJsonSchema(plantSchema),
  PlantPatch: toJsonSchema(plantPatchSchema),
  StoredPlant: toJsonSchema(newPlantSchema),
};

const TAGS: Operation['tags'] = ['Plants'];
const READ = [{ bearerAuth: ['plants:read'] }];
const WRITE = [{ bearerAuth: ['plants:write'] }];
const READ_AND_WRITE = [{ bearerAuth: ['plants:read', 'plants:write'] }];

const ginkgo = { name: 'Ginkgo', tag: 'Ginkgo biloba' };
const fir = { name: 'Fir' };

/** Examples with and without a tag, each with what `more` adds to it. */
const examples = (ofGinkgo = {}, ofFir = ofGinkgo) => ({
  plant: { summary: 'A plant', value: { ...ofGinkgo, ...ginkgo } },
  withoutTag: { summary: 'A plant without a tag', value: { ...ofFir, ...fir } },
});

const plantAnswer = (description: string): Response => ({
  description,
  headers: headersOf(200, ...rateLimitHeaders),
  content: { 'application/json': { schema: schemaReference('Plant'), examples: examples() } },
});

/** Of what reads or changes the plant that the path names, if it is as the client believes. */
const plantErrors = ['parameterWrong', ...errorsOf.token, 'plantUnknown', 'preconditionFailed', 'overloaded'] as const;

/** The description of what createPlantRoutes serves. */
export const plantOperations = {
  '/plants': {
    get: {
      operationId: 'listPlants',
      tags: TAGS,
      summary: 'List plants',
      description:
        'Plants in the order of their ids, a page at a time. The header Link says where the next page is, and is absent on ' +
        'the last one. Plants that are added or deleted meanwhile neither repeat others nor hide them.',
      security: READ,
      parameters: plantQuery,
      responses: {
        200: {
          description: 'A page of plants; an empty one where there are none.',
          headers: headersOf(200, ...rateLimitHeaders, 'Link'),
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
        ...errorResponses('parameterWrong', ...errorsOf.token, 'overloaded', 'searchTooSlow', ...errorsOf.database),
      },
    },
    post: {
      operationId: 'createPlant',
      tags: TAGS,
      summary: 'Create a plant',
      description:
        "Stores a plant under an id of the client's own. Nothing is ever overwritten: an id that is taken is an error, also " +
        'for the same plant. The answer comes when the plant is on disk.',
      security: WRITE,
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: schemaReference('NewPlant'), examples: examples({ id: 17 }, { id: 18 }) },
        },
      },
      responses: {
        200: plantAnswer('The plant is stored.'),
        ...errorResponses(...errorsOf.body, 'idTaken', ...errorsOf.token, 'overloaded', ...errorsOf.database),
      },
    },
  },
  '/plants/{id}': {
    get: {
      operationId: 'getPlant',
      tags: TAGS,
      summary: 'Get a plant',
      security: READ,
      parameters: [plantPath, ifMatch, ifNoneMatch],
      responses: {
        200: {
          description: 'The plant, with its id.',
          headers: headersOf(200, ...rateLimitHeaders, 'ETag'),
          content: {
            'application/json': {
              schema: schemaReference('StoredPlant'),
              examples: examples({ id: 17 }, { id: 18 }),
            },
          },
        },
        304: notModified(...rateLimitHeaders),
        ...errorResponses(...plantErrors, ...errorsOf.database),
      },
    },
    put: {
      operationId: 'replacePlant',
      tags: TAGS,
      summary: 'Replace a plant',
      description: 'Replaces name and tag of a stored plant; without a tag, it has none any more. Never creates one.',
      security: WRITE,
      parameters: [plantPath, ...plantPreconditions],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaReference('Plant'), examples: examples() } },
      },
      responses: {
        200: plantAnswer('The plant as it is now.'),
        ...errorResponses(...errorsOf.body, ...plantErrors, ...errorsOf.database),
      },
    },
    patch: {
      operationId: 'patchPlant',
      tags: TAGS,
      summary: 'Change a plant',
      description:
        'A JSON Merge Patch (RFC 7396): what it names is replaced, a tag that is null is removed. The answer shows all of the ' +
        'plant, so that the token needs both scopes.',
      security: READ_AND_WRITE,
      parameters: [plantPath, ...plantPreconditions],
      requestBody: {
        required: true,
        content: {
          'application/merge-patch+json': {
            schema: schemaReference('PlantPatch'),
            examples: {
              name: { summary: 'Another name', value: { name: 'Maidenhair tree' } },
              tag: { summary: 'No tag any more', value: { tag: null } },
            },
          },
        },
      },
      responses: {
        200: plantAnswer('The plant as it is now.'),
        ...errorResponses(...errorsOf.body, ...plantErrors, ...errorsOf.database),
      },
    },
    delete: {
      operationId: 'deletePlant',
      tags: TAGS,
      summary: 'Delete a plant',
      security: WRITE,
      parameters: [plantPath, ...plantPreconditions],
      responses: {
        204: { description: 'The plant is deleted.', headers: headersOf(204, ...rateLimitHeaders) },
        ...errorResponses(...plantErrors, ...errorsOf.database),
      },
    },
  },
} satisfies Record<string, PathItem>;
