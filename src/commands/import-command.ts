import { fstatSync, statSync, writeFileSync } from 'node:fs';
import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { stringifyExact } from '../bodies/exact-json.ts';
import { OperationalError } from '../errors.ts';
import { CONFLICT_MODES, DEFAULT_MAX_ERRORS, type ImportOptions, importQuerySchema } from '../imports/import.ts';
import { formatCount } from '../quote-value.ts';
import { failToWrite, formatOf, formatOption, importFormats, isSameFile, STDIO, sizeOf } from './bulk-file.ts';
import {
  createRemoteImporter,
  type FilesOutcome,
  type Importer,
  importFiles,
  summarizeAsText,
  withDatabaseImporter,
} from './import-files.ts';
import { parseAs, parseEncoding, parseFile } from './option-parsers.ts';
import { note, print } from './output.ts';
import { addServiceOptions, type CommandSettings, serviceOf } from './service-options.ts';
import { interruptible } from './stop-signal.ts';

type CommandOptions = Pick<ImportOptions, 'onConflict' | 'maxErrors' | 'delimiter'> & {
  encoding: string;
  dryRun?: boolean;
  atomic?: boolean;
  errors?: string;
  format?: (typeof importFormats)[number];
  json?: true;
};

export const addImportCommand = (program: Command, { config, environment }: CommandSettings): void => {
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
    .option('--errors <file>', 'write the errors of the failed rows to a file, one JSON object per line', parseFile)
    .option(
      '--delimiter <character>',
      'delimiter of CSV: a comma, a semicolon or "tab" (default: recognized from the header row)',
      parseAs(importQuerySchema.shape.delimiter),
    )
    .option('--encoding <label>', 'encoding of the files, such as windows-1252 or utf-16le', parseEncoding, 'utf-8')
    .addOption(formatOption(importFormats))
    .option('--json', 'print the summary as JSON');
  addServiceOptions(command).action(
    async (names: string[], { dryRun = false, atomic = false, format, ...options }: CommandOptions) => {
      const files = names.map((name) => ({ name, ...formatOf(command, name, importFormats, format) }));
      const fileOptions = { ...options, dryRun, atomic };
      const service = serviceOf(command, environment);
      const sizes = await Promise.all(names.map(sizeOf));
      const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
      // Before anything is stored.
      if (options.errors && (await isAnyOf(options.errors, names)))
        command.error(`error: --errors ${options.errors} would overwrite a file to import; name another file`);
      await using errorFile = options.errors
        ? await open(options.errors, constants.O_WRONLY | constants.O_CREAT).catch(failToWrite(options.errors))
        : undefined;
      const startedAt = performance.now();
      const outcome = await interruptible((signal) => {
        const run = (importFile: Importer) => importFiles(files, importFile, { size, signal, atomic });
        return service
          ? run(createRemoteImporter(service, fileOptions))
          : withDatabaseImporter(config(), fileOptions, run);
      });
      showErrors(outcome);
      const seconds = (performance.now() - startedAt) / 1000;
      const result = dryRun ? { dryRun, ...outcome } : outcome;
      const text = summarizeAsText(outcome, dryRun, seconds);
      const notPrinted = await print(`${options.json ? stringifyExact(result) : text}\n`).catch((error: Error) => {
        note(text);
        return error;
      });
      if (errorFile) await writeErrors(errorFile, outcome).catch(failToWrite(`${options.errors}`));
      // Whether anybody reads the summary does not change what became of the rows.
      const failure = failureOf(outcome, dryRun) ?? notPrinted;
      if (failure) throw failure;
    },
  );
};

const failureOf = ({ failed, stopped, message }: FilesOutcome, dryRun: boolean): Error | undefined => {
  if (failed > 0) return new OperationalError(dryRun ? 'Not all rows can be stored.' : 'Not all rows are stored.');
  // Perhaps all rows are stored.
  if (stopped) return new OperationalError('The import did not finish.');
  return message === undefined ? undefined : new OperationalError('Not every file has rows.');
};

/** Also of a pipe: one that the command itself has open to write never ends. */
const isAnyOf = async (file: string, names: readonly string[]): Promise<boolean> => {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() && !found?.isFIFO()) return false;
  return names.some((name) => {
    const { dev, ino } = name === STDIO ? fstatSync(0) : statSync(name);
    return dev === found.dev && ino === found.ino;
  });
};

const writeErrors = async (file: FileHandle, { errors }: FilesOutcome): Promise<void> => {
  const lines = errors.map((error) => `${stringifyExact(error)}\n`).join('');
  const found = await file.stat();
  // Such as /dev/stderr. Others may have written to it before, or do so afterwards.
  const standard = [1, 2].find((descriptor) => isSameFile(fstatSync(descriptor), found));
  if (standard !== undefined) return writeFileSync(standard, lines);
  // A pipe or a device has no length.
  if (found.isFile()) await file.truncate();
  await file.writeFile(lines);
};

/** The maximum number of failed rows to print. `--errors` writes all of them. */
const MAX_SHOWN = 10;

const showErrors = ({ errors, stopped, message: noRows }: FilesOutcome) => {
  const lines = errors.slice(0, MAX_SHOWN).map(({ file, line, message }) => `${file}:${line}: ${message}`);
  if (errors.length > MAX_SHOWN)
    lines.push(`and ${formatCount(errors.length - MAX_SHOWN)} more failed rows; --errors FILE writes all of them.`);
  if (stopped) lines.push(`${stopped.file}: ${stopped.message}`);
  if (noRows !== undefined) lines.push(noRows);
  for (const line of lines) note(line);
};
