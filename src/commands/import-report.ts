import { writeFile } from 'node:fs/promises';
import { stringifyExact } from '../bodies/exact-json.ts';
import { classifyDatabaseError } from '../database/database-error.ts';
import { failToWrite } from './bulk-file.ts';
import type { FilesOutcome } from './import-files.ts';
import { print } from './output.ts';

/** The maximum number of failed rows to print. `--errors` writes all of them. */
const MAX_SHOWN = 10;

type ReportOptions = { json: boolean; dryRun: boolean };

/** Prints the summary to standard output and the errors to standard error. @throws {OutputError} */
export const reportImport = async (outcome: FilesOutcome, { json, dryRun }: ReportOptions): Promise<void> => {
  const { errors, stopped } = outcome;
  for (const { file, line, message } of errors.slice(0, MAX_SHOWN)) {
    process.stderr.write(`${file}:${line}: ${message}\n`);
  }
  if (errors.length > MAX_SHOWN)
    process.stderr.write(`and ${errors.length - MAX_SHOWN} more failed rows; --errors FILE writes all of them.\n`);
  if (stopped) process.stderr.write(`${stopped.file}: ${explainStop(stopped)}\n`);
  await print(json ? `${toJson(outcome)}\n` : toText(outcome, dryRun));
};

/** Writes the failed rows as NDJSON. @throws {OperationalError} */
export const writeErrors = (file: string, { errors }: FilesOutcome): Promise<void> =>
  writeFile(file, errors.map((error) => `${stringifyExact(error)}\n`).join('')).catch(failToWrite(file));

const toText = ({ created, replaced, skipped, failed }: FilesOutcome, dryRun: boolean): string =>
  `${dryRun ? 'Dry run, nothing is stored: ' : ''}${created} created, ${replaced} replaced, ${skipped} skipped, ${failed} failed.\n`;

const toJson = ({ created, replaced, skipped, failed, errors, stopped }: FilesOutcome): string => {
  const end = stopped && {
    stopped: { file: stopped.file, storedUpTo: stopped.storedUpTo, message: explainStop(stopped) },
  };
  return stringifyExact({ created, replaced, skipped, failed, errors, ...end });
};

const explainStop = ({ reason, advice }: NonNullable<FilesOutcome['stopped']>): string =>
  [explainReason(reason), advice].filter((sentence) => sentence !== '').join(' ');

const explainReason = (reason: unknown): string => {
  if (reason === undefined) return 'Interrupted.';
  const failure = classifyDatabaseError(reason);
  if (failure === 'unreachable') return 'The database cannot be reached.';
  if (failure === 'notMigrated') return 'The database is not migrated. Run: plant-store migrate.';
  if (failure !== undefined) return 'The database connection was lost or timed out.';
  return (reason as Error).message.replace(/[^.]$/, '$&.');
};
