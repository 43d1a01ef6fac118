import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { stringifyExact } from '../bodies/exact-json.ts';
import type { Config } from '../config/config.ts';
import type { ExportFormat } from '../exports/write-rows.ts';
import {
  CONFLICT_MODES,
  DEFAULT_MAX_ERRORS,
  type ImportOptions,
  importQuerySchema,
  MAX_ATOMIC_ROWS,
} from '../imports/import.ts';
import { OperationalError } from '../operational-error.ts';
import { failToWrite, formatOf, formatOption, STDIO } from './bulk-file.ts';
import { type FilesOutcome, importFiles } from './import-files.ts';
import { parseAs } from './option-parsers.ts';
import { print } from './output.ts';
import { interruptible } from './stop-signal.ts';

type CommandOptions = Pick<ImportOptions, 'onConflict' | 'maxErrors'> & {
  dryRun?: boolean;
  atomic?: boolean;
  errors?: string;
  format?: ExportFormat;
  json?: true;
};

export const addImportCommand = (program: Command, config: () => Config): void => {
  const command = program
    .command('import')
    .description('import plants from NDJSON or CSV files')
    .argument('<files...>', `files to import, decompressed if they end in .gz; ${STDIO} is standard input`)
    .addOption(
      new Option('--on-conflict <mode>', 'what to do with a row whose id is taken')
        .choices(CONFLICT_MODES)
        .default('error'),
    )
    .option('--dry-run', 'check everything and store nothing')
    .option('--atomic', `store all rows of a file or none; at most ${MAX_ATOMIC_ROWS} rows`)
    .option(
      '--max-errors <count>',
      'stop if more rows of a file than this fail',
      parseAs(importQuerySchema.shape.maxErrors),
      DEFAULT_MAX_ERRORS,
    )
    .option('--errors <file>', 'write the failed rows to a file, one JSON object per line')
    .addOption(formatOption())
    .option('--json', 'print the summary as JSON')
    .action(async (names: string[], { dryRun = false, atomic = false, format, ...options }: CommandOptions) => {
      const files = names.map((name) => ({ name, ...formatOf(command, name, format) }));
      const importOptions = { ...options, dryRun, atomic };
      const outcome = await interruptible((signal) => importFiles(files, importOptions, { config: config(), signal }));
      if (options.errors) await writeErrors(options.errors, outcome);
      showErrors(outcome);
      await print(options.json ? `${stringifyExact(outcome)}\n` : toText(outcome, dryRun));
      if (outcome.failed > 0 || outcome.stopped)
        throw new OperationalError(dryRun ? 'Not all rows can be stored.' : 'Not all rows are stored.');
    });
};

const writeErrors = (file: string, { errors }: FilesOutcome): Promise<void> =>
  writeFile(file, errors.map((error) => `${stringifyExact(error)}\n`).join('')).catch(failToWrite(file));

/** The maximum number of failed rows to print. `--errors` writes all of them. */
const MAX_SHOWN = 10;

const showErrors = ({ errors, stopped }: FilesOutcome) => {
  const lines = errors.slice(0, MAX_SHOWN).map(({ file, line, message }) => `${file}:${line}: ${message}`);
  if (errors.length > MAX_SHOWN)
    lines.push(`and ${errors.length - MAX_SHOWN} more failed rows; --errors FILE writes all of them.`);
  if (stopped) lines.push(`${stopped.file}: ${stopped.message}`);
  for (const line of lines) process.stderr.write(`${line}\n`);
};

const toText = ({ created, replaced, skipped, failed }: FilesOutcome, dryRun: boolean): string =>
  `${dryRun ? 'Dry run, nothing is stored: ' : ''}${created} created, ${replaced} replaced, ${skipped} skipped, ${failed} failed.\n`;
