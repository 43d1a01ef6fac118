import {
  addCounts,
  type ImportCounts,
  type ImportOptions,
  type ImportSummary,
  NO_COUNTS,
  type RowError,
} from '../imports/import.ts';
import { describeInterruption, type Interruption } from '../imports/import-errors.ts';
import type { ImportProgress } from '../imports/import-plants.ts';
import { formatCount } from '../quote-value.ts';
import type { FileFormat, importFormats } from './bulk-file.ts';
import { describeProgress, describeStoring, showProgress } from './output.ts';

export type ImportFile = FileFormat<(typeof importFormats)[number]> & { name: string };

/** The maximum size of a JSON array in bytes of UTF-8: it is held in memory. */
export const MAX_ARRAY_BYTES = 67_108_864;

/** How to import: `encoding` is that of the files. */
export type FileOptions = ImportOptions & { encoding: string };

/** `signal` ends the import. `progress` is kept up to date: the rows of this file, and the bytes of all files so far. */
export type Report = { signal: AbortSignal; progress: ImportProgress & { bytes: number } };

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

/** The summary of an import that was interrupted. @param errors of the wrong rows up to then */
export const summarizeInterruption = (
  reason: string,
  interruption: Interruption,
  errors: RowError[] = [],
): ImportSummary => {
  // The messages of the file system and of libraries have no full stop.
  const sentence = reason.replace(/[^.]$/, '$&.');
  const message = `${sentence} ${describeInterruption(interruption, '--on-conflict skip')}`;
  return { ...NO_COUNTS, failed: errors.length, errors, message, isAccepted: false };
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
