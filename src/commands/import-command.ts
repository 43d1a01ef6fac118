import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { stringifyExact } from '../bodies/exact-json.ts';
import type { Config } from '../config/config.ts';
import { CHARSETS, type Charset } from '../imports/decode-charset.ts';
import {
  CONFLICT_MODES,
  DEFAULT_MAX_ERRORS,
  formatCount,
  type ImportOptions,
  importQuerySchema,
  MAX_ATOMIC_ROWS,
} from '../imports/import.ts';
import { OperationalError } from '../operational-error.ts';
import { failToWrite, formatOf, formatOption, importFormats, STDIO } from './bulk-file.ts';
import { type FilesOutcome, importFiles, rowsOf } from './import-files.ts';
import { parseAs } from './option-parsers.ts';
import { print } from './output.ts';
import { interruptible } from './stop-signal.ts';

type CommandOptions = Pick<ImportOptions, 'onConflict' | 'maxErrors' | 'delimiter'> & {
  encoding?: Charset;
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
    .option('--atomic', `store all rows of a file or none; at most ${formatCount(MAX_ATOMIC_ROWS)} rows`)
    .option(
      '--max-errors <count>',
      'stop if more rows of a file than this fail',
      parseAs(importQuerySchema.shape.maxErrors),
      DEFAULT_MAX_ERRORS,
    )
    .option('--errors <file>', 'write the failed rows to a file, one JSON object per line')
    .option(
      '--delimiter <character>',
      'delimiter of CSV: a comma, a semicolon or "tab" (default: recognized from the header row)',
      parseAs(importQuerySchema.shape.delimiter),
    )
    .addOption(
      new Option('--encoding <encoding>', 'encoding of the files, as a spreadsheet saved them')
        .choices(CHARSETS)
        .default(CHARSETS[0]),
    )
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
