import type { Config } from '../config/config.ts';
import { BULK_STATEMENT_TIMEOUT, CONNECT_TIMEOUT, createPool } from '../database/database.ts';
import { createPoolStatements } from '../database/statements.ts';
import {
  AtomicImportTooLargeError,
  addCounts,
  type ImportCounts,
  ImportInterruptedError,
  type ImportOptions,
  NO_COUNTS,
  type ReadRows,
  type RowError,
} from '../imports/import.ts';
import { importPlants } from '../imports/import-plants.ts';
import { createImportRepository, type ImportRepository, LANES } from '../imports/import-repository.ts';
import { readCsv, readNdjson } from '../imports/read-rows.ts';
import { type FileFormat, readFileBytes, sizeOf } from './bulk-file.ts';
import { showProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

export type ImportFile = FileFormat & { name: string };

/** The combined result of all files. */
export type FilesOutcome = ImportCounts & {
  errors: (RowError & { file: string })[];
  /** Whether every row of every file was stored, or skipped as requested. */
  isComplete: boolean;
  /** Present if the import stopped before the end of a file. */
  stopped?: {
    file: string;
    /** Undefined if the user interrupted the command. */
    reason: unknown;
    /** Every row of the file up to this line is stored or failed. */
    storedUpTo: number;
    advice: string;
  };
};

type FilesOptions = { config: Config; signal: AbortSignal };

/**
 * Imports files one after another. Stops at the first that cannot be imported completely.
 * @throws {OperationalError} a file cannot be read; errors of PostgreSQL before the first file
 */
export const importFiles = async (
  files: readonly ImportFile[],
  options: ImportOptions,
  { config, signal }: FilesOptions,
): Promise<FilesOutcome> => {
  const sizes = await Promise.all(files.map(({ name }) => sizeOf(name)));
  const size = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  return withDatabase(config, async (url) => {
    const timeouts = { connectTimeout: CONNECT_TIMEOUT, statementTimeout: BULK_STATEMENT_TIMEOUT };
    const statements = createPoolStatements({
      pool: createPool({ url, connections: LANES, ...timeouts }),
      onConnectionLost: () => {},
    });
    const repository = createImportRepository({ statements });
    const outcome: FilesOutcome = { ...NO_COUNTS, errors: [], isComplete: true };
    let current: ImportCounts = NO_COUNTS;
    let bytes = 0;
    const endProgress = showProgress({
      read: () => ({ rows: rowsOf(outcome) + rowsOf(current), share: size ? bytes / size : undefined }),
    });
    try {
      for (const file of files) {
        await importFile(file, options, {
          outcome,
          repository,
          signal,
          maxLineBytes: config.bodyLimit,
          onBytes: (count) => {
            bytes += count;
          },
          onProgress: (counts) => {
            current = counts;
          },
        });
        current = NO_COUNTS;
        if (outcome.stopped) break;
      }
    } finally {
      endProgress();
      await statements.close();
    }
    return outcome;
  });
};

const rowsOf = ({ created, replaced, skipped, failed }: ImportCounts) => created + replaced + skipped + failed;

type FileContext = {
  /** Updated in place. */
  outcome: FilesOutcome;
  repository: ImportRepository;
  signal: AbortSignal;
  maxLineBytes: number;
  onBytes: (count: number) => void;
  onProgress: (counts: ImportCounts) => void;
};

const importFile = async (file: ImportFile, options: ImportOptions, context: FileContext) => {
  const { outcome, repository, signal, maxLineBytes, onBytes, onProgress } = context;
  const { name, format } = file;
  const readRows = format === 'csv' ? readCsv : readNdjson;
  const read: ReadRows = (whileWanted) =>
    readRows(readFileBytes(name, file, { signal: whileWanted, onBytes }), { maxLineBytes });
  const stop = (reason: unknown, advice: string, storedUpTo = 0) => {
    outcome.stopped = { file: name, reason, storedUpTo, advice };
  };
  const add = ({ errors, ...counts }: ImportCounts & { errors: RowError[] }) => {
    Object.assign(outcome, addCounts(outcome, counts));
    outcome.errors.push(...errors.map((error) => ({ file: name, ...error })));
  };
  try {
    const summary = await importPlants(read, options, { repository, signal, onProgress });
    add(summary);
    if (!summary.isAccepted) {
      if (options.atomic) stop(new Error('Some rows cannot be stored'), 'No rows of this file are stored.');
      else stop(new Error('Too many rows failed'), 'The rest of the file was not read; see --max-errors.');
    }
  } catch (error) {
    if (error instanceof AtomicImportTooLargeError) stop(error, '');
    else if (!(error instanceof ImportInterruptedError)) throw error;
    else {
      const { counts, errors, cause, message, storedUpTo } = error;
      add({ ...counts, errors });
      stop(signal.aborted ? undefined : cause, toOptions(message), storedUpTo);
    }
  }
  if (outcome.failed > 0 || outcome.stopped) outcome.isComplete = false;
};

/** Replaces the query parameter with the command-line option. */
const toOptions = (advice: string): string => advice.replace(/onConflict=(\w+)/, '--on-conflict $1');
