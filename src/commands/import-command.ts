import { addAbortListener } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { stringifyExact } from '../bodies/exact-json.ts';
import type { Config } from '../config/config.ts';
import { BULK_LOCK_TIMEOUT, CONNECT_TIMEOUT } from '../database/database.ts';
import { OperationalError } from '../errors.ts';
import { decodeText } from '../imports/decode-text.ts';
import {
  addCounts,
  CONFLICT_MODES,
  DEFAULT_MAX_ERRORS,
  formatCount,
  type ImportCounts,
  type ImportOptions,
  importQuerySchema,
  NO_COUNTS,
  type ReadRows,
  type RowError,
} from '../imports/import.ts';
import { ImportInterruptedError } from '../imports/import-errors.ts';
import { type ImportProgress, importPlants } from '../imports/import-plants.ts';
import { createImportSessions } from '../imports/import-session.ts';
import { readCsv } from '../imports/read-csv.ts';
import { readJson, readNdjson } from '../imports/read-json.ts';
import {
  type FileFormat,
  failToWrite,
  formatOf,
  formatOption,
  importFormats,
  readFileBytes,
  STDIO,
  sizeOf,
} from './bulk-file.ts';
import { parseAs, parseEncoding } from './option-parsers.ts';
import { describeProgress, describeStoring, print, showProgress } from './output.ts';
import { interruptible } from './stop-signal.ts';
import { withSession } from './with-database.ts';

type CommandOptions = Pick<ImportOptions, 'onConflict' | 'maxErrors' | 'delimiter'> & {
  encoding: string;
  dryRun?: boolean;
  atomic?: boolean;
  errors?: string;
  format?: (typeof importFormats)[number];
  json?: true;
};

export const addImportCommand = (program: Command, config: () => Config): void => {
  const command = program
    .command('import')
    .description('import plants from NDJSON, CSV or JSON files')
    .argument('<files...>', `files to import (.gz is decompressed; ${STDIO} reads standard input)`)
    .addOption(
      new Option('--on-conflict <mode>', 'what to do with a row whose id is taken')
        .choices(CONFLICT_MODES)
        .default('error'),
    )
    .option('--dry-run', 'check everything and store nothing')
    .option('--atomic', 'store all rows of a file or, if one fails, none')
    .option(
      '--max-errors <count>',
      'store nothing of a file if more of its rows than this fail',
      parseAs(importQuerySchema.shape.maxErrors),
      DEFAULT_MAX_ERRORS,
    )
    .option('--errors <file>', 'write the failed rows to a file, one JSON object per line')
    .option(
      '--delimiter <character>',
      'delimiter of CSV: a comma, a semicolon or "tab" (default: recognized from the header row)',
      parseAs(importQuerySchema.shape.delimiter),
    )
    .option('--encoding <label>', 'encoding of the files, such as windows-1252 or utf-16le', parseEncoding, 'utf-8')
    .addOption(formatOption(importFormats))
    .option('--json', 'print the summary as JSON')
    .action(async (names: string[], { dryRun = false, atomic = false, format, ...options }: CommandOptions) => {
      const files = names.map((name) => ({ name, ...formatOf(command, name, importFormats, format) }));
      const importOptions = { ...options, dryRun, atomic };
      const startedAt = performance.now();
      const outcome = await interruptible((signal) => importFiles(files, importOptions, { config: config(), signal }));
      if (options.errors) await writeErrors(options.errors, outcome);
      showErrors(outcome);
      const seconds = (performance.now() - startedAt) / 1000;
      const report = dryRun ? { dryRun, ...outcome } : outcome;
      await print(options.json ? `${stringifyExact(report)}\n` : toText(outcome, dryRun, seconds));
      if (outcome.failed > 0 || outcome.stopped)
        throw new OperationalError(dryRun ? 'Not all rows can be stored.' : 'Not all rows are stored.');
      if (outcome.message !== undefined) throw new OperationalError('Not every file has rows.');
    });
};

const writeErrors = (file: string, { errors }: FilesOutcome): Promise<void> =>
  writeFile(file, errors.map((error) => `${stringifyExact(error)}\n`).join('')).catch(failToWrite(file));

/** The maximum number of failed rows to print. `--errors` writes all of them. */
const MAX_SHOWN = 10;

const showErrors = ({ errors, stopped, message: noRows }: FilesOutcome) => {
  const lines = errors.slice(0, MAX_SHOWN).map(({ file, line, message }) => `${file}:${line}: ${message}`);
  if (errors.length > MAX_SHOWN)
    lines.push(`and ${formatCount(errors.length - MAX_SHOWN)} more failed rows; --errors FILE writes all of them.`);
  if (stopped) lines.push(`${stopped.file}: ${stopped.message}`);
  if (noRows !== undefined) lines.push(noRows);
  for (const line of lines) process.stderr.write(`${line}\n`);
};

const toText = (outcome: FilesOutcome, dryRun: boolean, seconds: number): string => {
  const counts = (['created', 'replaced', 'skipped', 'failed'] as const)
    .map((name) => `${formatCount(outcome[name])} ${name}`)
    .join(', ');
  const rate = formatCount(Math.round(rowsOf(outcome) / seconds));
  return `${dryRun ? 'Dry run, nothing is stored: ' : ''}${counts} in ${seconds.toFixed(1)} s (${rate} rows/s).\n`;
};

type ImportFormat = (typeof importFormats)[number];

type FileOutcome = ImportCounts & {
  errors: RowError[];
  /** Present if nothing of the file is stored, or if that is not known. */
  stopped?: { stoppedAt?: number; message: string };
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
  options: ImportOptions & { encoding?: string },
  { config, signal }: { config: Config; signal: AbortSignal },
): Promise<FilesOutcome> => {
  const sizes = await Promise.all(files.map(({ name }) => sizeOf(name)));
  const size = sizes.reduce<number>((sum, bytes = Number.NaN) => sum + bytes, 0);
  return withSession(config, async (url) => {
    const sessions = createImportSessions({
      ...{ url, connectTimeout: CONNECT_TIMEOUT, count: 1, lockTimeout: BULK_LOCK_TIMEOUT, grace: GRACE },
      onConnectionLost: () => {},
    });
    const outcome: FilesOutcome = { ...NO_COUNTS, errors: [] };
    let current: ImportProgress = { step: 'reading', rows: 0 };
    let bytesRead = 0;
    let storingSince = 0;
    const onProgress = (progress: ImportProgress) => {
      if (progress.step === 'storing') storingSince = performance.now();
      current = progress;
    };
    const onBytes = (count: number) => {
      bytesRead += count;
    };
    const endProgress = showProgress((seconds) =>
      current.step === 'storing'
        ? describeStoring((performance.now() - storingSince) / 1000, current.rows)
        : describeProgress(seconds, rowsOf(outcome) + current.rows, bytesRead / size),
    );
    const onNoRows = (file: string) => (message: string) => {
      outcome.message = `${outcome.message === undefined ? '' : `${outcome.message}\n`}${file}: ${message}`;
    };
    try {
      for (const { name: file, ...format } of files) {
        const read: ReadRows = ({ signal: whileWanted }) => {
          const bytes = readFileBytes(file, format, { signal: whileWanted, onBytes });
          return readRows(format.format, decodeText(bytes, options.encoding), {
            maxLineBytes: config.bodyLimit,
            delimiter: options.delimiter,
            onNoRows: onNoRows(file),
          });
        };
        const ending = new AbortController();
        using _listener = addAbortListener(signal, () => ending.abort(new OperationalError('Interrupted.')));
        const settings = { sessions, lockTimeout: BULK_LOCK_TIMEOUT, ending, onProgress };
        const { errors, stopped, ...counts } = await importFile(read, options, settings);
        current = { step: 'reading', rows: 0 };
        Object.assign(outcome, addCounts(outcome, counts));
        outcome.errors.push(...errors.map((error) => ({ file, ...error })));
        if (stopped) return { ...outcome, stopped: { file, ...stopped } };
      }
      return outcome;
    } finally {
      endProgress();
      await sessions.close();
    }
  });
};

/** How long a cancelled statement may take to end, in ms. */
const GRACE = 2000;

/** The maximum size of a JSON array in bytes of UTF-8: it is held in memory, and so are its elements. */
const MAX_ARRAY_BYTES = 67_108_864;

const readRows = (format: ImportFormat, text: AsyncIterable<string>, options: Parameters<typeof readCsv>[1]) => {
  if (format === 'json') return readJson(text, { maxBytes: MAX_ARRAY_BYTES, onNoRows: options.onNoRows });
  return format === 'csv' ? readCsv(text, options) : readNdjson(text, options);
};

export const rowsOf = ({ created, replaced, skipped, failed }: ImportCounts) => created + replaced + skipped + failed;

const importFile = async (...[read, options, settings]: Parameters<typeof importPlants>): Promise<FileOutcome> => {
  try {
    const { isAccepted, stoppedAt, error: _, message = '', ...outcome } = await importPlants(read, options, settings);
    if (isAccepted) return outcome;
    const advice = options.atomic ? '' : ' See --max-errors.';
    return { ...outcome, stopped: { ...(stoppedAt && { stoppedAt }), message: `${message}${advice}` } };
  } catch (error) {
    if (!(error instanceof ImportInterruptedError)) throw error;
    const { errors } = error;
    const reason = error.reason ?? sentence(error.cause as Error);
    const advice = error.describe((onConflict) => `--on-conflict ${onConflict}`);
    const failed = errors.length;
    return { ...NO_COUNTS, failed, errors, stopped: { message: `${reason} ${advice}` } };
  }
};

/** The message of an error of the file system or of a library. */
const sentence = ({ message }: Error): string => message.replace(/[^.]$/, '$&.');
