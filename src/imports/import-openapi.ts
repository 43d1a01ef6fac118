import { z } from 'zod';
import { errors } from '../errors.ts';
import type { Operation, Paths } from '../openapi/describe-paths.ts';
import { json, parametersOf, reference, toJsonSchema } from '../openapi/openapi.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { importQuerySchema, MAX_ERRORS, NO_COUNTS } from './import.ts';

const count = (description: string) => z.int().min(0).describe(description);

const importSummarySchema = z.object({
  created: count('The number of plants created.'),
  replaced: count('The number of existing plants whose name and tag were replaced by those of their row.'),
  skipped: count('The number of rows skipped because their id was taken (`onConflict=skip`).'),
  failed: count('The number of failed rows.'),
  errors: z
    .array(
      z.object({
        line: z.int().min(1).describe('The line on which the row begins, or the number of the array element, from 1.'),
        id: newPlantSchema.shape.id.optional().describe('The id of the row, if it is valid.'),
        error: z.int32().meta({ format: 'int32', description: 'The error code.' }),
        message: z.string().describe('What is wrong with the row.'),
      }),
    )
    .max(MAX_ERRORS + 1)
    .describe('All failed rows in line order: at most `maxErrors`, and the one that stopped the import.'),
  stoppedAt: z.int().min(1).optional().describe('The line of the failed row that exceeded `maxErrors`.'),
  message: z
    .string()
    .optional()
    .describe(
      'With status 400: why the import stopped, and what is stored. With status 200: that the file had no rows, such as ' +
        'CSV with only a header row.',
    ),
});

export const importSchemas = { ImportSummary: toJsonSchema(importSummarySchema) };

const summaryOf = (summary: string, created: number) =>
  json('ImportSummary', {
    summary: {
      summary,
      value: {
        ...NO_COUNTS,
        created,
        failed: 1,
        errors: [{ line: 3, error: 1003, message: 'name is required.' }],
      } satisfies z.input<typeof importSummarySchema>,
    },
  });

const twoPlants = (value: unknown) => ({ plants: { summary: 'Two plants', value } });

const importPlants: Operation = {
  operationId: 'importPlants',
  summary: 'Import plants',
  description:
    'Creates plants from NDJSON with one NewPlant per line, CSV with a header row (`id`, `name`, `tag`), both of any size ' +
    'and `charset`, or a JSON array. Rows are stored during the upload. If it is interrupted, the message gives the line ' +
    'up to which all rows are stored.',
  scopes: ['plants:write'],
  parameters: parametersOf('query', importQuerySchema),
  body: {
    // With `contentMediaType`, the API page shows a file picker.
    'application/x-ndjson': {
      schema: { type: 'string', contentMediaType: 'application/x-ndjson' },
      examples: twoPlants('{"id": 17, "name": "Ginkgo", "tag": "Ginkgo biloba"}\n{"id": 18, "name": "Fir"}\n'),
    },
    'text/csv': {
      schema: { type: 'string', contentMediaType: 'text/csv' },
      examples: twoPlants('id,name,tag\n17,Ginkgo,Ginkgo biloba\n18,Fir,\n'),
    },
    ...json(
      { type: 'array', items: reference('schemas', 'NewPlant') },
      twoPlants([
        { id: 17, name: 'Ginkgo' },
        { id: 18, name: 'Fir' },
      ]),
    ),
  },
  responses: {
    200: {
      description: 'The whole file was read. Rows may have failed.',
      content: summaryOf('All rows but one are stored', 1999),
    },
    400: {
      description: 'An ImportSummary, if too many rows failed; or an Error.',
      content: summaryOf('A row failed in an atomic import, so nothing is stored', 0),
    },
  },
  errors: [errors.parameterWrong, errors.stopping],
};

export const importPaths: Paths = { '/plants/import': { post: importPlants } };
