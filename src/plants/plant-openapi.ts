import { errors } from '../errors.ts';
import { idempotent } from '../idempotency/keyed-request.ts';
import { notModified, type Operation, type Paths, preconditions } from '../openapi/describe-paths.ts';
import { json, parametersOf, reference, toJsonSchema } from '../openapi/openapi.ts';
import {
  manyPlantsQuerySchema,
  newPlantSchema,
  plantCountQuerySchema,
  plantPatchSchema,
  plantPathSchema,
  plantQuerySchema,
  plantSchema,
} from './plant.ts';

/** Creates a plant with an id that doubles cannot hold, in three languages. Tests run these. */
export const snippets = {
  curl: `curl http://127.0.0.1:3000/plants \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 9223372036854775807, "name": "Ginkgo"}'`,

  JavaScript: `const id = 9223372036854775807n;
const response = await fetch('http://127.0.0.1:3000/plants', {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.ACCESS_TOKEN}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ id: JSON.rawJSON(String(id)), name: 'Ginkgo' }),
});
// To read ids exactly, pass JSON.parse a function that makes them a BigInt.
const exact = (key, value, { source }) => (key === 'id' ? BigInt(source) : value);
console.log(response.status, JSON.parse(await response.text(), exact));`,

  Python: `import json, os, urllib.request

request = urllib.request.Request(
    "http://127.0.0.1:3000/plants",
    json.dumps({"id": 9223372036854775807, "name": "Ginkgo"}).encode(),
    {"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}", "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    print(response.status, json.load(response))`,
};

/** The schemas that the operations refer to. */
export const plantSchemas = {
  NewPlant: toJsonSchema(newPlantSchema),
  Plant: toJsonSchema(plantSchema),
  PlantPatch: toJsonSchema(plantPatchSchema),
  StoredPlant: toJsonSchema(newPlantSchema),
};

const ginkgo = { name: 'Ginkgo', tag: 'Ginkgo biloba' };
const fir = { name: 'Fir' };

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

const numberOf = (member: string, description: string): Operation['responses'] => ({
  200: {
    description,
    content: json(
      { type: 'object', properties: { [member]: { type: 'integer', minimum: 0 } }, required: [member] },
      { [member]: { summary: 'Two plants', value: { [member]: 2 } } },
    ),
  },
});

const countPlants: Operation = {
  operationId: 'countPlants',
  summary: 'Count plants',
  description: 'Counts all plants, or those that match, as of a single point in time. It reads all of them.',
  scopes: ['plants:read'],
  parameters: parametersOf('query', plantCountQuerySchema),
  responses: numberOf('count', 'The number of plants.'),
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
  description: 'Returns a plant with its id, which may have more digits than a double holds, and its version as ETag.',
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

const manyPlants = {
  parameters: parametersOf('query', manyPlantsQuerySchema),
  errors: [errors.parameterWrong, errors.keyInvalid, errors.keyNotSupported, errors.searchTooSlow],
};
const MANY =
  'At least one of `tag`, `id` and `q` is needed. It is one statement, which changes all of them or, if it takes too ' +
  'long (1505) or fails, none; add a `limit` then. It takes no Idempotency-Key and no If-Match.';

const patchPlants: Operation = {
  operationId: 'patchPlants',
  summary: 'Change the plants that match',
  description: `Applies a JSON Merge Patch (RFC 7396) to all plants that match. Those that would stay as they are do not count. ${MANY}`,
  scopes: ['plants:read', 'plants:write'],
  body: { 'application/merge-patch+json': plantPatch, 'application/json': plantPatch },
  responses: numberOf('updated', 'The number of plants that were changed or, in a dry run, would be.'),
  ...manyPlants,
};

const deletePlants: Operation = {
  operationId: 'deletePlants',
  summary: 'Delete the plants that match',
  description: `Deletes all plants that match. ${MANY}`,
  scopes: ['plants:write'],
  responses: numberOf('deleted', 'The number of plants that were deleted or, in a dry run, would be.'),
  ...manyPlants,
};

const deletePlant: Operation = {
  operationId: 'deletePlant',
  summary: 'Delete a plant',
  description: 'Deletes a stored plant. Its id is free again.',
  scopes: ['plants:write'],
  responses: { 204: { description: 'The plant is deleted.' } },
  ...changeOnePlant,
};

export const plantPaths: Paths = {
  '/plants': { post: createPlant, get: listPlants, patch: patchPlants, delete: deletePlants },
  '/plants/count': { get: countPlants },
  '/plants/{id}': { get: getPlant, put: replacePlant, patch: patchPlant, delete: deletePlant },
};
