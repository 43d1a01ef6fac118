import { commonErrors } from '../http/common-errors.ts';
import type { Operation, Path } from '../openapi/describe-paths.ts';
import type { Parameter } from '../openapi/openapi.ts';
import { plantErrorCodes } from '../plants/plant-api-errors.ts';
import { plantQuery } from '../plants/plant-openapi-parameters.ts';
import type { exportQuerySchema } from './export-routes.ts';
import { exportFormats, rowWriters } from './write-rows.ts';

const format: Parameter = {
  name: 'format',
  in: 'query',
  description: 'The format of the response: one JSON object per line, or CSV',
  schema: { type: 'string', enum: [...exportFormats], default: 'ndjson' },
};

const parameters: (Parameter & { name: keyof typeof exportQuerySchema.shape })[] = [
  { ...format, name: 'format' },
  ...(['tag', 'q'] as const).map((name) => ({
    ...(plantQuery.find((found) => found.name === name) as Parameter),
    name,
  })),
];

const mediaTypeOf = (contentType: string) => contentType.split(';')[0] as string;

const content: Operation['responses'][number]['content'] = {
  [mediaTypeOf(rowWriters.ndjson.type)]: {
    schema: { type: 'string', description: 'One StoredPlant per line.' },
    examples: {
      plants: {
        summary: 'Two plants',
        value: '{"id":17,"name":"Ginkgo","tag":"Ginkgo biloba"}\n{"id":18,"name":"Fir"}\n',
      },
    },
  },
  [mediaTypeOf(rowWriters.csv.type)]: {
    schema: {
      type: 'string',
      description:
        'CSV as in RFC 4180, with a header row. An empty tag is `""`; a plant without a tag has an empty field without quotes.',
    },
    examples: {
      plants: { summary: 'Two plants', value: 'id,name,tag\n17,Ginkgo,Ginkgo biloba\n18,Fir,\n' },
    },
  },
};

/** The operation that addExportRoutes serves. */
export const exportPaths = {
  '/plants/export': {
    get: {
      operationId: 'exportPlants',
      tags: ['Plants'],
      summary: 'Export plants',
      description:
        'Returns all plants, or those that match, ordered by id, as of a single point in time. The response is streamed as ' +
        'fast as the client reads it. A client that reads nothing for a minute is disconnected. If the export fails after ' +
        'the response has started, the connection is closed without the last chunk.',
      scopes: ['plants:read'],
      parameters,
      responses: { 200: { description: 'The plants, as a file.', headers: ['Content-Disposition'], content } },
      errors: [commonErrors.parameterWrong, plantErrorCodes.searchTooSlow],
    },
  },
} satisfies Record<string, Path>;
