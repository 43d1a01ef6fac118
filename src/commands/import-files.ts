import type { Config } from '../config/config.ts';
import { BULK_LOCK_TIMEOUT, BULK_STATEMENT_TIMEOUT, CONNECT_TIMEOUT, createPool } from '../database/database.ts';
import { createPoolStatements } from '../database/statements.ts';
import { type Charset, decodeCharset } from '../imports/decode-charset.ts';
import {
  addCounts,
  describeRefusal,
  type ImportCounts,
  type ImportOptions,
  NO_COUNTS,
  type ReadRows,
  type RowError,
} from '../imports/import.ts';
import { ImportInterruptedError } from '../imports/import-errors.ts';
import { importPlants } from '../imports/import-plants.ts';
import { createImportRepository, LANES } from '../imports/import-repository.ts';
import { readCsv } from '../imports/read-csv.ts';
import { readJson, readNdjson } from '../imports/read-json.ts';
import { StoreError } from '../store-error.ts';
import { type FileFormat, type importFormats, readFileBytes, sizeOf } from './bulk-file.ts';
import { describeProgress, showProgress } from './progress.ts';
import { withSession } from './with-database.ts';

type ImportFormat = (typeof importFormats)[number];

type FileOutcome = ImportCounts & {
  errors: RowError[];
  /** Present if the import stopped before the end of the file. Every row up to the line `storedUpTo` is stored or failed. */
  stopped?: { storedUpTo: number; stoppedAt?: number; message: string };
};

/** The combined result of all files. */
export type FilesOutcome = ImportCounts & {
  errors: (RowError & { file: string })[];
  stopped?: NonNullable<FileOutcome['stopped']> & { file: string };
  /** Present if files have no rows: a line for each of them. */
  message?: string;
};

/**
 * Imports files one after another. Stops at the first that cannot be imported completely.
 * @throws {OperationalError} a file cannot be read; errors of PostgreSQL before the first file
 */
export const importFiles = async (
  files: readonly (FileFormat<ImportFormat> & { name: string })[],
  options: ImportOptions & { encoding?: Charset | undefined },
  { config, signal }: { config: Config; signal: AbortSignal },
): Promise<FilesOutcome> => {
  const sizes = await Promise.all(files.map(({ name }) => sizeOf(name)));
  const size = sizes.reduce<number>((sum, bytes = Number.NaN) => sum + bytes, 0);
  return withSession(config, async (url) => {
    const timeouts = {
      connectTimeout: CONNECT_TIMEOUT,
      statementTimeout: BULK_STATEMENT_TIMEOUT,
      lockTimeout: BULK_LOCK_TIMEOUT,
    };
    const pool = createPool({ url, connections: LANES, ...timeouts });
    const statements = createPoolStatements({ pool, onConnectionLost: () => {} });
    const repository = createImportRepository({ statements });
    const outcome: FilesOutcome = { ...NO_COUNTS, errors: [] };
    let current: ImportCounts = NO_COUNTS;
    let bytesRead = 0;
    const onProgress = (counts: ImportCounts) => {
      current = counts;
    };
    const onBytes = (count: number) => {
      bytesRead += count;
    };
    const endProgress = showProgress((seconds) =>
      describeProgress(seconds, rowsOf(outcome) + rowsOf(current), bytesRead / size),
    );
    const onNoRows = (file: string) => (message: string) => {
      outcome.message = `${outcome.message === undefined ? '' : `${outcome.message}\n`}${file}: ${message}`;
    };
    try {
      for (const { name: file, ...format } of files) {
        const read: ReadRows = (whileWanted) => {
          const bytes = readFileBytes(file, format, { signal: whileWanted, onBytes });
          return readRows(format.format, decodeCharset(bytes, options.encoding), {
            maxLineBytes: config.bodyLimit,
            delimiter: options.delimiter,
            onNoRows: onNoRows(file),
          });
        };
        const { errors, stopped, ...counts } = await importFile(read, options, { repository, signal, onProgress });
        current = NO_COUNTS;
        Object.assign(outcome, addCounts(outcome, counts));
        outcome.errors.push(...errors.map((error) => ({ file, ...error })));
        if (stopped) return { ...outcome, stopped: { file, ...stopped } };
      }
      return outcome;
    } finally {
      endProgress();
      await statements.close();
    }
  });
};

/** The maximum size of a JSON array in bytes: it is held in memory, with a copy as text. */
const MAX_ARRAY_BYTES = 67_108_864;

const readRows = (format: ImportFormat, bytes: AsyncIterable<Buffer>, options: Parameters<typeof readCsv>[1]) => {
  if (format === 'json') return readJson(bytes, { maxBytes: MAX_ARRAY_BYTES, onNoRows: options.onNoRows });
  return format === 'csv' ? readCsv(bytes, options) : readNdjson(bytes, options);
};

export const rowsOf = ({ created, replaced, skipped, failed }: ImportCounts) => created + replaced + skipped + failed;

const importFile = async (...[read, options, settings]: Parameters<typeof importPlants>): Promise<FileOutcome> => {
  try {
    const { isAccepted, stoppedAt, ...outcome } = await importPlants(read, options, settings);
    if (isAccepted) return outcome;
    const message = describeRefusal({ ...outcome, stoppedAt }, options);
    if (stoppedAt === undefined) return { ...outcome, stopped: { storedUpTo: 0, message } };
    const storedUpTo = options.atomic ? 0 : stoppedAt;
    return { ...outcome, stopped: { storedUpTo, stoppedAt, message: `${message} See --max-errors.` } };
  } catch (error) {
    if (error instanceof StoreError)
      return { ...NO_COUNTS, errors: [], stopped: { storedUpTo: 0, message: error.message } };
    if (!(error instanceof ImportInterruptedError)) throw error;
    const { counts, errors, storedUpTo } = error;
    const reason = settings.signal.aborted ? 'Interrupted.' : (error.reason ?? sentence(error.cause as Error));
    const advice = error.describe((onConflict) => `--on-conflict ${onConflict}`);
    return { ...counts, errors, stopped: { storedUpTo, message: `${reason} ${advice}` } };
  }
};

/** The message of an error of the file system or of a library. */
const sentence = ({ message }: Error): string => message.replace(/[^.]$/, '$&.');
