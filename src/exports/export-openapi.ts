import { errors } from '../errors.ts';
import type { Operation, Paths } from '../openapi/describe-paths.ts';
import { parametersOf } from '../openapi/openapi.ts';
import { exportQuerySchema } from './exports.ts';

const twoPlants = (value: string) => ({ plants: { summary: 'Two plants', value } });

const exportPlants: Operation = {
  operationId: 'exportPlants',
  summary: 'Export plants',
  description:
    'Returns all plants, or those that match, ordered by id, as of a single point in time. The response is streamed as ' +
    'fast as the client reads it. A client that reads nothing for one to two minutes is disconnected, and one that takes ' +
    'longer than the operator allows, by default an hour. If the export fails after the response has started, the ' +
    'connection is closed without the last chunk.',
  scopes: ['plants:read'],
  parameters: parametersOf('query', exportQuerySchema),
  responses: {
    200: {
      description: 'The plants, as a file.',
      headers: ['Content-Disposition'],
      content: {
        'application/x-ndjson': {
          schema: { type: 'string', description: 'One StoredPlant per line.' },
          examples: twoPlants('{"id":17,"name":"Ginkgo","tag":"Ginkgo biloba"}\n{"id":18,"name":"Fir"}\n'),
        },
        'text/csv': {
          schema: {
            type: 'string',
            description:
              'CSV as in RFC 4180, with a header row. An empty tag is `""`; a plant without a tag has an empty field without quotes.',
          },
          examples: twoPlants('id,name,tag\n17,Ginkgo,Ginkgo biloba\n18,Fir,\n'),
        },
      },
    },
  },
  errors: [errors.parameterWrong, errors.searchTooSlow],
};

export const exportPaths: Paths = { '/plants/export': { get: exportPlants } };
