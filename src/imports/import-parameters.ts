import { z } from 'zod';

/** The maximum number of rows that may fail. A response lists one more: the row that stopped the import. */
export const MAX_ERRORS = 10_000;
export const DEFAULT_MAX_ERRORS = 1000;
const MAX_ERRORS_WRONG = `should be an integer from 0 to ${MAX_ERRORS}`;

export const CONFLICT_MODES = ['error', 'skip', 'replace'] as const;

const flag = z
  .enum(['true', 'false'], 'should be true or false')
  .default('false')
  .transform((text) => text === 'true');

/** The query of `POST /plants/import`. Strict, because ignoring a misspelled parameter could store the wrong data. */
export const importQuerySchema = z.strictObject({
  onConflict: z
    .enum(CONFLICT_MODES, `should be ${CONFLICT_MODES.join(', ')}`.replace(/, (?=\w+$)/, ' or '))
    .default('error'),
  dryRun: flag,
  atomic: flag,
  maxErrors: z
    .string({ error: MAX_ERRORS_WRONG })
    .regex(/^(0|[1-9]\d{0,4})$/, { error: MAX_ERRORS_WRONG, abort: true })
    .transform(Number)
    .refine((count) => count <= MAX_ERRORS, MAX_ERRORS_WRONG)
    .default(DEFAULT_MAX_ERRORS),
});
