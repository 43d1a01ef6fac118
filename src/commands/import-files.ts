import { addAbortListener } from 'node:events';
import { pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Config } from '../config/config.ts';
import { BULK_LOCK_TIMEOUT, COMMAND_CONNECT_TIMEOUT } from '../database/database.ts';
import { DatabaseUnreachableError } from '../database/database-error.ts';
import { assertSession } from '../database/database-url.ts';
import { OperationalError } from '../errors.ts';
import { createTextDecoder } from '../imports/decode-text.ts';
import {
  addCounts,
  type ImportCounts,
  type ImportOptions,
  type ImportSummary,
  importSummarySchema,
  NO_COUNTS,
  type ReadRows,
  type RowError,
} from '../imports/import.ts';
import { describeInterruption, ImportInterruptedError, type Interruption } from '../imports/import-errors.ts';
import { type ImportProgress, importPlants } from '../imports/import-plants.ts';
import { createImportSessions } from '../imports/import-session.ts';
import { createElementReader } from '../imports/read-json.ts';
import { readRows, withEnd } from '../imports/read-rows.ts';
import { formatCount } from '../quote-value.ts';
import { type FileFormat, type importFormats, readFileBytes } from './bulk-file.ts';
import { describeProgress, describeStoring, showProgress } from './output.ts';
import { RemoteError, type RemoteService, readResult, send } from './remote-service.ts';
import { explainError, withSession } from './with-database.ts';

type ImportFile = FileFormat<(typeof importFormats)[number]> & { name: string };

/** The maximum size of a JSON array in bytes of UTF-8: it is held in memory. */
const MAX_ARRAY_BYTES = 67_108_864;

/** How to import: `encoding` is that of the files. */
type FileOptions = ImportOptions & { encoding: string };

/** `signal` ends the import. `progress` is kept up to date: the rows of this file, and the bytes of all files so far. */
type Report = { signal: AbortSignal; progress: ImportProgress & { bytes: number } };

/** Imports one file. It is not accepted if nothing of it is stored, or if that is not known. */
export type Importer = (file: ImportFile, report: Report) => Promise<ImportSummary>;

export type FilesOutcome = ImportCounts & {
  errors: (RowError & { file: string })[];
  /** Present if the last file was not accepted. */
  stopped?: { file: string; stoppedAt?: number; message: string };
  /** Present if files have no rows: a line for each of them. */
  message?: string;
};

/** Imports files one after another, and shows progress. Stops at the first that cannot be imported completely. */
export const importFiles = async (
  files: readonly ImportFile[],
  importFile: Importer,
  { size, signal, atomic }: { size: number; signal: AbortSignal; atomic: boolean },
): Promise<FilesOutcome> => {
  const outcome: FilesOutcome = { ...NO_COUNTS, errors: [] };
  const progress: Report['progress'] = { rows: 0, bytes: 0 };
  using _shown = showProgress((seconds) =>
    progress.storingSince === undefined
      ? describeProgress(seconds, rowsOf(outcome) + progress.rows, progress.bytes / size)
      : describeStoring((performance.now() - progress.storingSince) / 1000, progress.rows),
  );
  for (const [index, file] of files.entries()) {
    const { name } = file;
    const summary = await importFile(file, { signal, progress });
    const { errors, isAccepted, stoppedAt, message } = summary;
    Object.assign(progress, { rows: 0, storingSince: undefined });
    Object.assign(outcome, addCounts(outcome, summary));
    outcome.errors.push(...errors.map((error) => ({ file: name, ...error })));
    if (!isAccepted) {
      const advice = stoppedAt === undefined || atomic ? '' : ' See --max-errors.';
      const left = files.length - index - 1;
      const notRead = left === 0 ? '' : ` Files after it, not read: ${formatCount(left)}.`;
      const said = `${message}${advice}${notRead}`;
      return { ...outcome, stopped: { file: name, ...(stoppedAt && { stoppedAt }), message: said } };
    }
    if (message !== undefined) outcome.message = [outcome.message, `${name}: ${message}`].filter(Boolean).join('\n');
  }
  return outcome;
};

const rowsOf = ({ created, replaced, skipped, failed }: ImportCounts) => created + replaced + skipped + failed;

/** Without a line end. */
export const summarizeAsText = (outcome: FilesOutcome, dryRun: boolean, seconds: number): string => {
  const counts = (['created', 'replaced', 'skipped', 'failed'] as const)
    .map((name) => `${formatCount(outcome[name])} ${name}`)
    .join(', ');
  const rate = formatCount(rowsOf(outcome) / seconds);
  return `${dryRun ? 'Dry run, nothing is stored: ' : ''}${counts} in ${seconds.toFixed(1)} s (${rate} rows/s).`;
};

/** How long a cancelled statement may take to end, in ms. */
const GRACE = 2000;

/** Calls `use` with an importer that stores into the database, without the service. @throws errors of PostgreSQL, when it connects */
export const withDatabaseImporter = <Result>(
  config: Config,
  options: FileOptions,
  use: (importFile: Importer) => Promise<Result>,
): Promise<Result> =>
  withSession(config, async (url) => {
    assertSession(url, 'Importing');
    const sessions = createImportSessions({
      url,
      connectTimeout: COMMAND_CONNECT_TIMEOUT,
      count: 1,
      lockTimeout: BULK_LOCK_TIMEOUT,
      grace: GRACE,
      onConnectionLost: () => {},
    });
    const importFile: Importer = async (file, { signal, progress }) => {
      const read: ReadRows = (whileWanted) => {
        const bytes = readFileBytes(file.name, file, { signal: whileWanted, progress });
        const { delimiter, encoding } = options;
        const maxLineBytes = file.format === 'json' ? MAX_ARRAY_BYTES : config.bodyLimit;
        return readRows(bytes, { format: file.format, encoding, delimiter, maxLineBytes });
      };
      const ending = new AbortController();
      using _listener = addAbortListener(signal, () => ending.abort(new OperationalError('Interrupted.')));
      try {
        return await importPlants(read, options, { sessions, ending, progress });
      } catch (error) {
        if (!(error instanceof ImportInterruptedError)) throw error;
        const { cause, reason = (cause as Error).message, errors } = error;
        const isUnreachable = cause instanceof DatabaseUnreachableError;
        return summarizeInterruption(isUnreachable ? explainError(cause, () => config) : reason, error, errors);
      }
    };
    return use(importFile).finally(sessions.close);
  });

/** Imports files through a service. What of a file it cannot read is for the service to say, except for JSON arrays. */
export const createRemoteImporter =
  (service: RemoteService, options: FileOptions): Importer =>
  async (file, report) => {
    const { signal } = report;
    const { encoding, onConflict, dryRun, atomic, maxErrors, delimiter } = options;
    try {
      const response = await send(service, {
        method: 'POST',
        path: '/plants/import',
        query: { onConflict, dryRun, atomic, maxErrors, delimiter },
        headers: headersOf(file, encoding),
        signal,
        body: (bodySignal) => readBody(file, encoding, { ...report, signal: bodySignal }),
      });
      const summary = await readResult(response, service, importSummarySchema);
      return { ...summary, isAccepted: response.statusCode === 200 };
    } catch (error) {
      const { message } = error as Error;
      const outcome = error instanceof RemoteError ? error.outcome : 'not sent';
      if (outcome === 'refused') return { ...NO_COUNTS, errors: [], message, isAccepted: false };
      const interruption = { isUnknown: outcome === 'unknown' && !dryRun, cause: error, onConflict };
      return summarizeInterruption(signal.aborted ? 'Interrupted.' : message, interruption);
    }
  };

const headersOf = ({ format, isCompressed }: ImportFile, encoding: string): Record<string, string> => {
  const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
  const charset = format === 'json' ? 'utf-8' : encoding;
  return { 'Content-Type': `${type}; charset=${charset}`, ...(isCompressed && { 'Content-Encoding': 'gzip' }) };
};

/** A compressed file is compressed again, after its rows were counted. */
async function* readBody(file: ImportFile, encoding: string, { signal, progress }: Report) {
  const bytes = readFileBytes(file.name, file, { signal, progress });
  const counted = async function* () {
    for await (const piece of file.format === 'json' ? arrayLines(bytes, encoding) : bytes) {
      progress.rows += piece.toString('latin1').split('\n').length - 1;
      yield piece;
    }
  };
  yield* file.isCompressed ? pipeline(counted, createGzip({ level: 1 }), () => {}) : counted();
  progress.storingSince = performance.now();
}

/** A service takes no array of more than its BODY_LIMIT. An element and its line have the same number. */
async function* arrayLines(bytes: AsyncIterable<Buffer>, encoding: string) {
  const decode = await createTextDecoder(encoding);
  const elementsIn = createElementReader(MAX_ARRAY_BYTES);
  for await (const piece of withEnd(bytes))
    for (const { text } of elementsIn(decode(piece), piece === undefined))
      yield Buffer.from(`${text.trim().replace(/[\r\n]/g, ' ')}\n`);
}

/** The summary of an import that was interrupted. @param errors of the wrong rows up to then */
const summarizeInterruption = (reason: string, interruption: Interruption, errors: RowError[] = []): ImportSummary => {
  // The messages of the file system and of libraries have no full stop.
  const sentence = reason.replace(/[^.]$/, '$&.');
  const message = `${sentence} ${describeInterruption(interruption, '--on-conflict skip')}`;
  return { ...NO_COUNTS, failed: errors.length, errors, message, isAccepted: false };
};
