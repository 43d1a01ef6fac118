import { z } from 'zod';
import { commonErrors } from '../http/common-errors.ts';
import type { Operation, Path } from '../openapi/describe-paths.ts';
import { type Parameter, schemaReference, toJsonSchema } from '../openapi/openapi.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { CONFLICT_MODES, DEFAULT_MAX_ERRORS, type importQuerySchema, MAX_ERRORS } from './import.ts';
import { MAX_ATOMIC_ROWS } from './import-atomically.ts';

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
    .describe('The failed rows in line order: at most `maxErrors`, and the one that stopped the import.'),
});

export const importSchemas = { ImportSummary: toJsonSchema(importSummarySchema) };

const flag: Parameter['schema'] = { type: 'string', enum: ['true', 'false'], default: 'false' };

const importQuery: Record<keyof typeof importQuerySchema.shape, Omit<Parameter, 'name' | 'in'>> = {
  onConflict: {
    description:
      'What to do with a row whose id is taken: report it as failed (`error`), skip it, or replace the name and tag of the ' +
      'plant. If an id occurs twice in an import, the first row wins: with `skip` later rows are skipped, otherwise they fail.',
    schema: { type: 'string', enum: [...CONFLICT_MODES], default: 'error' },
  },
  dryRun: { description: 'Checks everything and stores nothing', schema: flag },
  atomic: { description: `Stores all rows or none; at most ${MAX_ATOMIC_ROWS} rows`, schema: flag },
  maxErrors: {
    description: 'The import stops if more rows than this fail',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: MAX_ERRORS, default: DEFAULT_MAX_ERRORS },
  },
};

const summaryContent = (name: string, summary: string, value: z.input<typeof importSummarySchema>) => ({
  'application/json': { schema: schemaReference('ImportSummary'), examples: { [name]: { summary, value } } },
});

const failedRow = { line: 3, error: 1003, message: 'name is required.' };

const importPlants: Operation = {
  operationId: 'importPlants',
  tags: ['Plants'],
  summary: 'Import plants',
  description:
    'Creates plants from a file: NDJSON with one NewPlant per line, CSV with a header row that names `id`, `name` and ' +
    'optionally `tag`, or a JSON array. NDJSON and CSV files may have any size; the size limit for request bodies applies ' +
    'to each row, and to a JSON array as a whole. Rows are stored during the upload. If the import is interrupted, the ' +
    'error message says up to which line every row is stored. The request timeout applies to each pause of the upload.',
  scopes: ['plants:write'],
  parameters: Object.entries(importQuery).map(([name, description]) => ({ name, in: 'query', ...description })),
  requestBody: {
    required: true,
    content: {
      // With `contentMediaType`, the API page shows a file picker.
      'application/x-ndjson': {
        schema: { type: 'string', contentMediaType: 'application/x-ndjson' },
        examples: {
          plants: {
            summary: 'Two plants',
            value: '{"id": 17, "name": "Ginkgo", "tag": "Ginkgo biloba"}\n{"id": 18, "name": "Fir"}\n',
          },
        },
      },
      'text/csv': {
        schema: { type: 'string', contentMediaType: 'text/csv' },
        examples: { plants: { summary: 'Two plants', value: 'id,name,tag\n17,Ginkgo,Ginkgo biloba\n18,Fir,\n' } },
      },
      'application/json': {
        schema: { type: 'array', items: schemaReference('NewPlant') },
        examples: {
          plants: {
            summary: 'Two plants',
            value: [
              { id: 17, name: 'Ginkgo' },
              { id: 18, name: 'Fir' },
            ],
          },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'The whole file was read. Rows may have failed.',
      content: summaryContent('done', 'All rows but one are stored', {
        ...{ created: 1999, replaced: 0, skipped: 0, failed: 1 },
        errors: [failedRow],
      }),
    },
    400: {
      description: 'An ImportSummary: more than `maxErrors` rows failed, or at least one with `atomic`.',
      content: summaryContent('refused', 'A row failed in an atomic import, so nothing is stored', {
        ...{ created: 0, replaced: 0, skipped: 0, failed: 1 },
        errors: [failedRow],
      }),
    },
  },
  errors: [commonErrors.parameterWrong, commonErrors.stopping],
};

/** Must come before `/plants/{id}`, which also matches the path. */
export const importPaths = { '/plants/import': { post: importPlants } } satisfies Record<string, Path>;
