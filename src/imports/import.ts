import { z } from 'zod';
import { StoreError } from '../errors.ts';
import { parseBody } from '../http/parse-request.ts';
import { flag, integerText, type NewPlant, newPlantSchema } from '../plants/plant.ts';
import { formatCount } from '../quote-value.ts';

/** The maximum number of rows that may fail. A response lists one more: the row that stopped the import. */
export const MAX_ERRORS = 10_000;
export const DEFAULT_MAX_ERRORS = 1000;

export const CONFLICT_MODES = ['error', 'skip', 'replace'] as const;

/** The query of `POST /plants/import`. Strict, because ignoring a misspelled parameter could store the wrong data. */
export const importQuerySchema = z.strictObject({
  onConflict: z
    .enum(CONFLICT_MODES, `must be ${CONFLICT_MODES.join(', ')}`.replace(/, (?=\w+$)/, ' or '))
    .default('error')
    .describe(
      'What to do with a row whose id is taken: report it as failed (`error`), skip it, or replace the plant. ' +
        'If an id occurs twice in an import, the first row wins.',
    ),
  dryRun: flag.describe('Checks everything and stores nothing'),
  atomic: flag.describe('Stores all rows or, if one fails, none'),
  maxErrors: integerText(0, MAX_ERRORS)
    .default(DEFAULT_MAX_ERRORS)
    .describe('If more rows than this fail, nothing is stored'),
  delimiter: z
    .enum([',', ';', 'tab', '\t'], 'must be a comma, a semicolon or tab')
    .optional()
    .describe('The delimiter of CSV; by default recognized from the header row'),
});

/** What to do with a row whose id is taken, whether to store nothing or all or none, and how many rows may fail. */
export type ImportOptions = z.output<typeof importQuerySchema>;

export type PlantRow = { line: number; plant: NewPlant };

const count = (description: string) => z.int().min(0).describe(description);

export const importSummarySchema = z.object({
  created: count('The number of plants created.'),
  replaced: count('The number of existing plants whose name and tag are those of their row now.'),
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
    .describe('The failed rows in line order; if they are too many, the first `maxErrors` + 1.'),
  stoppedAt: z.int().min(1).optional().describe('With status 400: the line of the last of `errors`.'),
  error: z
    .int32()
    .optional()
    .meta({ format: 'int32', description: 'With status 400: the code of the last of `errors`.' }),
  message: z
    .string()
    .optional()
    .describe(
      'With status 400: why nothing is stored. With status 200: that the file had no rows, such as CSV with only a header row.',
    ),
});

/** The result of an import. `isAccepted`: false if too many rows failed, so that nothing is stored. */
export type ImportSummary = z.output<typeof importSummarySchema> & { isAccepted: boolean };

/** Why a row is not stored. `error` is the code with which `POST /plants` would respond. */
export type RowError = ImportSummary['errors'][number];

/** A row of an import: a valid plant, or an error. */
export type ImportRow = PlantRow | RowError;

/** A NewPlant. The format determines how its id is written. */
type PlantSchema = z.ZodObject<Omit<typeof newPlantSchema.shape, 'id'> & { id: z.ZodType<bigint> }>;

/**
 * Validates one row.
 * @param subject the name of the row in messages
 * @param parse returns the value to validate; a StoreError that it throws becomes the row's error
 * @throws any other error of `parse`
 */
export const toRow = (line: number, schema: PlantSchema, subject: string, parse: () => unknown): ImportRow => {
  let value: unknown;
  try {
    value = parse();
    return { line, plant: parseBody(schema, value, subject) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const id = schema.shape.id.safeParse((value as { id?: unknown } | null | undefined)?.id);
    return { line, ...(id.success && { id: id.data }), error: error.code, message: error.message };
  }
};

/** Reads the rows of an import, some at a time. Throws once the import is ended, even while it waits for bytes. */
export type ReadRows = (signal: AbortSignal) => AsyncIterable<ImportRow[]>;

/** What may have happened to a file that is a single line. */
export const LINE_ENDS_LOST =
  'If line ends were lost on the way: curl -d removes them, curl --data-binary and -T keep them.';

export const NO_ROWS = 'The file has no rows: it is empty, or has only a header row or blank lines.';

export type ImportCounts = Pick<ImportSummary, 'created' | 'replaced' | 'skipped' | 'failed'>;

export const NO_COUNTS: Readonly<ImportCounts> = { created: 0, replaced: 0, skipped: 0, failed: 0 };

/** @returns only the counts */
export const addCounts = (counts: ImportCounts, added: ImportCounts): ImportCounts => ({
  created: counts.created + added.created,
  replaced: counts.replaced + added.replaced,
  skipped: counts.skipped + added.skipped,
  failed: counts.failed + added.failed,
});

/** Whether so many failed rows end an import, of which nothing is stored then. */
export const isTooMany = (failed: number, { atomic, maxErrors }: ImportOptions): boolean =>
  failed > (atomic ? 0 : maxErrors);

const countRows = (count: number) => (count === 1 ? '1 row' : `${formatCount(count)} rows`);

/**
 * @param errors of all rows or more than `maxErrors`, the first in the order of lines
 * @returns the result of an import with these counts and errors, of which nothing is stored if too many rows failed
 */
export const summarize = (counts: ImportCounts, errors: readonly RowError[], options: ImportOptions): ImportSummary => {
  const { failed } = counts;
  const { maxErrors } = options;
  const listed = errors.toSorted((a, b) => a.line - b.line).slice(0, maxErrors + 1);
  const last = listed.at(-1);
  if (last === undefined || !isTooMany(failed, options)) return { ...counts, errors: listed, isAccepted: true };
  const { line: stoppedAt, error } = last;
  const why =
    failed > maxErrors
      ? `The import stopped at line ${stoppedAt} because more than ${countRows(maxErrors)} failed.`
      : `The import is atomic, and ${countRows(failed)} failed.`;
  return {
    ...NO_COUNTS,
    failed,
    errors: listed,
    stoppedAt,
    error,
    message: `${why} Nothing is stored.`,
    isAccepted: false,
  };
};
