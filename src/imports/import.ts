import { z } from 'zod';
import type { NewPlant } from '../plants/plant.ts';

/** A number for people, such as 10,000. */
export const formatCount = (count: number): string => count.toLocaleString('en-US');

/** The maximum number of rows that may fail. A response lists one more: the row that stopped the import. */
export const MAX_ERRORS = 10_000;
export const DEFAULT_MAX_ERRORS = 1000;
/** The maximum number of rows of an atomic import. */
export const MAX_ATOMIC_ROWS = 10_000;
const MAX_ERRORS_WRONG = `must be an integer from 0 to ${MAX_ERRORS}`;

export const CONFLICT_MODES = ['error', 'skip', 'replace'] as const;

const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .pipe(z.boolean())
  .default(false);

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
  atomic: flag.describe(`Stores all rows or none; at most ${formatCount(MAX_ATOMIC_ROWS)} rows`),
  maxErrors: z
    .string({ error: MAX_ERRORS_WRONG })
    .regex(/^(0|[1-9]\d{0,4})$/, { error: MAX_ERRORS_WRONG, abort: true })
    .transform(Number)
    .pipe(z.int().min(0).max(MAX_ERRORS, MAX_ERRORS_WRONG))
    .default(DEFAULT_MAX_ERRORS)
    .describe('The import stops if more rows than this fail'),
  delimiter: z
    .enum([',', ';', 'tab', '\t'], 'must be a comma, a semicolon or tab')
    .optional()
    .describe('The delimiter of CSV; by default recognized from the header row'),
});

/** What to do with a row whose id is taken, whether to store nothing or all or none, and how many rows may fail. */
export type ImportOptions = z.output<typeof importQuerySchema>;

export type PlantRow = { line: number; plant: NewPlant };

/** Why a row is not stored. `error` is the code with which `POST /plants` would respond. */
export type RowError = {
  /** The line on which the row begins, or the element of a JSON array, from 1. */
  line: number;
  /** Present if it is valid. */
  id?: bigint;
  error: number;
  message: string;
};

/** A row of an import: a valid plant, or an error. */
export type ImportRow = PlantRow | RowError;

/** Reads the rows of an import, some at a time. Throws once the signal is aborted, even while it waits for bytes. */
export type ReadRows = (signal: AbortSignal) => AsyncIterable<ImportRow[]>;

/** Called at the end of a file that has no rows, not even failed ones, with a sentence that says what it has. */
export type OnNoRows = (message: string) => void;

export type ImportCounts = { created: number; replaced: number; skipped: number; failed: number };

export const NO_COUNTS: Readonly<ImportCounts> = { created: 0, replaced: 0, skipped: 0, failed: 0 };

/** @param factor -1 subtracts. @returns only the counts */
export const addCounts = (counts: ImportCounts, added: ImportCounts, factor = 1): ImportCounts => ({
  created: counts.created + factor * added.created,
  replaced: counts.replaced + factor * added.replaced,
  skipped: counts.skipped + factor * added.skipped,
  failed: counts.failed + factor * added.failed,
});

/** `storedUpTo`: every row up to this line is stored or failed. */
export type ImportProgress = ImportCounts & { storedUpTo: number };

/** The result of an import. The response of `POST /plants/import` has all of it except `isAccepted`. */
export type ImportSummary = ImportCounts & {
  /** All failed rows, in line order: at most `maxErrors` + 1. */
  errors: RowError[];
  /** The line of the failed row that exceeded `maxErrors`. No row after it counts as failed, but some may be stored. */
  stoppedAt?: number | undefined;
  /** Whether the whole input was read and, in an atomic import, no row failed. */
  isAccepted: boolean;
};

/** Why an import was not accepted, and what is stored. */
export const describeRefusal = (
  { stoppedAt, created, replaced }: Pick<ImportSummary, 'stoppedAt' | 'created' | 'replaced'>,
  { atomic, dryRun, maxErrors }: ImportOptions,
): string => {
  const why =
    stoppedAt === undefined
      ? 'Some rows cannot be stored.'
      : `The import stopped at line ${stoppedAt} because more than ${formatCount(maxErrors)} rows failed.`;
  if (atomic || dryRun || created + replaced === 0) return `${why} Nothing is stored.`;
  return `${why} The rows before it that did not fail are stored, and perhaps some after it.`;
};
