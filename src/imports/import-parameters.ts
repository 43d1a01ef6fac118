import { z } from 'zod';
import { MAX_ATOMIC_ROWS } from './import-atomically.ts';

/** The maximum number of rows that may fail. A response lists one more: the row that stopped the import. */
export const MAX_ERRORS = 10_000;
export const DEFAULT_MAX_ERRORS = 1000;
const MAX_ERRORS_WRONG = `should be an integer from 0 to ${MAX_ERRORS}`;

export const CONFLICT_MODES = ['error', 'skip', 'replace'] as const;

const flag = z
  .enum(['true', 'false'], 'should be true or false')
  .transform((text) => text === 'true')
  .pipe(z.boolean())
  .default(false);

/** The query of `POST /plants/import`. Strict, because ignoring a misspelled parameter could store the wrong data. */
export const importQuerySchema = z.strictObject({
  onConflict: z
    .enum(CONFLICT_MODES, `should be ${CONFLICT_MODES.join(', ')}`.replace(/, (?=\w+$)/, ' or '))
    .default('error')
    .describe(
      'What to do with a row whose id is taken: report it as failed (`error`), skip it, or replace the name and tag of the ' +
        'plant. If an id occurs twice in an import, the first row wins: with `skip` later rows are skipped, otherwise they fail.',
    ),
  dryRun: flag.describe('Checks everything and stores nothing'),
  atomic: flag.describe(`Stores all rows or none; at most ${MAX_ATOMIC_ROWS} rows`),
  maxErrors: z
    .string({ error: MAX_ERRORS_WRONG })
    .regex(/^(0|[1-9]\d{0,4})$/, { error: MAX_ERRORS_WRONG, abort: true })
    .transform(Number)
    .pipe(z.int().min(0).max(MAX_ERRORS, MAX_ERRORS_WRONG))
    .default(DEFAULT_MAX_ERRORS)
    .describe('The import stops if more rows than this fail'),
});
