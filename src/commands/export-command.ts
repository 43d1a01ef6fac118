import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { CONNECT_TIMEOUT } from '../database/database.ts';
import { createPlantExports } from '../exports/export-plants.ts';
import { type ExportFormat, exportFormats } from '../exports/write-rows.ts';
import { type FileFormat, formatOf, STDIO, writeFileBytes } from './bulk-file.ts';
import { CommandError } from './command-error.ts';
import { interruptible } from './interruptible.ts';
import { showProgress } from './progress.ts';
import { withBulkDatabase } from './with-bulk-database.ts';

type ExportOptions = { format?: ExportFormat; tag?: string; q?: string };

export const addExportCommand = (program: Command, config: () => Config): void => {
  const command = program
    .command('export')
    .description('export all plants, or those that match, as of a single point in time')
    .argument('[file]', 'file to write, compressed if it ends in .gz; - is standard output', STDIO)
    .addOption(
      new Option('--format <format>', 'file format (default: from the file name, otherwise ndjson)').choices(
        exportFormats,
      ),
    )
    .option('--tag <tag>', 'only plants with this tag')
    .option('--q <text>', 'only plants whose name contains this text, ignoring case')
    .action(async (file: string, options: ExportOptions) => {
      const format = formatOf(file, options.format);
      if (format === undefined)
        return command.error(
          `error: cannot tell the format from the file name ${file}; add --format ${exportFormats.join(' or ')}`,
        );
      const rows = await interruptible((signal) => exportTo(file, { ...options, format, signal, config: config() }));
      process.stderr.write(`Exported ${rows.toLocaleString('en-US')} plants.\n`);
    });
};

type ExportToOptions = Pick<ExportOptions, 'tag' | 'q'> & { format: FileFormat; signal: AbortSignal; config: Config };

/** @returns the number of plants. @throws {CommandError} {OutputError} errors of PostgreSQL */
const exportTo = (file: string, { format, tag, q, signal, config }: ExportToOptions): Promise<number> =>
  withBulkDatabase(config, async ({ url }) => {
    const plantExports = createPlantExports({ database: { url, connectTimeout: 2 * CONNECT_TIMEOUT }, limit: 1 });
    let rows = 0;
    const onRow = () => {
      rows += 1;
    };
    const endProgress = showProgress({ read: () => ({ rows }) });
    try {
      await plantExports.read({ format: format.format, tag, nameContains: q, onRow, signal }, (bytes) =>
        writeFileBytes(file, format, { bytes, signal }),
      );
      return rows;
    } catch (error) {
      if (signal.aborted) throw new CommandError(file === STDIO ? INTERRUPTED : `${INTERRUPTED} ${file} is unchanged.`);
      throw error;
    } finally {
      endProgress();
    }
  });

const INTERRUPTED = 'The export was interrupted and is not complete.';
