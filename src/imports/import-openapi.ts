import type { z } from 'zod';
import { errors } from '../errors.ts';
import type { Operation, Paths } from '../openapi/describe-paths.ts';
import { json, parametersOf, reference, toJsonSchema } from '../openapi/openapi.ts';
import { importQuerySchema, importSummarySchema, NO_COUNTS } from './import.ts';

export const importSchemas = { ImportSummary: toJsonSchema(importSummarySchema) };

type Summary = z.input<typeof importSummarySchema>;

const summaryOf = (summary: string, more: Partial<Summary>) =>
  json('ImportSummary', {
    summary: {
      summary,
      value: {
        ...NO_COUNTS,
        failed: 1,
        errors: [{ line: 3, error: 1003, message: 'name is required.' }],
        ...more,
      } satisfies Summary,
    },
  });

const twoPlants = (value: unknown) => ({ plants: { summary: 'Two plants', value } });

const importPlants: Operation = {
  operationId: 'importPlants',
  summary: 'Import plants',
  description:
    'Creates plants from NDJSON with one NewPlant per line, CSV with a header row (`id`, `name`, `tag`), both of any size ' +
    'and `charset`, or a JSON array. An import is one transaction: if it is interrupted, or too many rows fail, nothing is ' +
    'stored.',
  scopes: ['plants:write'],
  parameters: parametersOf('query', importQuerySchema),
  body: {
    // First, because some generators send every body as JSON, with the first schema.
    ...json(
      { type: 'array', items: reference('schemas', 'NewPlant') },
      twoPlants([
        { id: 17, name: 'Ginkgo' },
        { id: 18, name: 'Fir' },
      ]),
    ),
    // With `contentMediaType`, the API page shows a file picker.
    'application/x-ndjson': {
      schema: { type: 'string', contentMediaType: 'application/x-ndjson' },
      examples: twoPlants('{"id": 17, "name": "Ginkgo", "tag": "Ginkgo biloba"}\n{"id": 18, "name": "Fir"}\n'),
    },
    'text/csv': {
      schema: { type: 'string', contentMediaType: 'text/csv' },
      examples: twoPlants('id,name,tag\n17,Ginkgo,Ginkgo biloba\n18,Fir,\n'),
    },
  },
  responses: {
    200: {
      description: 'The whole file was read, and its rows are stored, except those that failed.',
      content: summaryOf('All rows but one are stored', { created: 1999 }),
    },
    400: {
      description: 'An ImportSummary, if too many rows failed; or an Error.',
      content: summaryOf('A row failed in an atomic import, so nothing is stored', {
        stoppedAt: 3,
        error: 1003,
        message: 'The import is atomic, and 1 row failed. Nothing is stored.',
      }),
    },
  },
  errors: [errors.parameterWrong, errors.idTaken, errors.stopping],
};

export const importPaths: Paths = { '/plants/import': { post: importPlants } };
