import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { BULK_STATEMENT_TIMEOUT, CONNECT_TIMEOUT, type Database } from '../database/database.ts';
import { createPlantExports } from '../exports/export-plants.ts';
import { type ExportFormat, writeRows } from '../exports/write-rows.ts';
import { OperationalError } from '../operational-error.ts';
import { type FileFormat, formatOf, formatOption, STDIO, writeFileBytes } from './bulk-file.ts';
import { showProgress } from './progress.ts';
import { interruptible } from './stop-signal.ts';
import { withDatabase, withPrisma } from './with-database.ts';

type ExportOptions = { format?: ExportFormat; tag?: string; q?: string };

export const addExportCommand = (program: Command, config: () => Config): void => {
  const command = program
    .command('export')
    .description('export all plants, or those that match, as of a single point in time')
    .argument('[file]', 'file to write, compressed if it ends in .gz; - is standard output', STDIO)
    .addOption(formatOption())
    .option('--tag <tag>', 'only plants with this tag')
    .option('--q <text>', 'only plants whose name contains this text, ignoring case')
    .action(async (file: string, options: ExportOptions) => {
      const format = formatOf(command, file, options.format);
      const rows = await interruptible((signal) =>
        withDatabase(config(), (url) =>
          withPrisma(url, (database) => exportTo(file, { ...options, format, signal, database }), BULK),
        ),
      );
      process.stderr.write(`Exported ${rows.toLocaleString('en-US')} plants.\n`);
    });
};

const BULK = { statementTimeout: BULK_STATEMENT_TIMEOUT };

type ExportToOptions = Pick<ExportOptions, 'tag' | 'q'> & {
  format: FileFormat;
  signal: AbortSignal;
  database: Database;
};

/** @returns the number of plants. @throws {OperationalError} {OutputError} errors of PostgreSQL */
const exportTo = async (file: string, { format, tag, q, signal, database }: ExportToOptions): Promise<number> => {
  const plantExports = createPlantExports({ database, limit: 1, startTimeout: 2 * CONNECT_TIMEOUT });
  let rows = 0;
  const onRows = (count: number) => {
    rows += count;
  };
  const endProgress = showProgress({ read: () => ({ rows }) });
  try {
    await plantExports.read({ tag, nameContains: q }, (pages) =>
      writeFileBytes(file, format, { bytes: writeRows(format.format, pages, onRows), signal }),
    );
    return rows;
  } catch (error) {
    if (signal.aborted)
      throw new OperationalError(file === STDIO ? INTERRUPTED : `${INTERRUPTED} ${file} is unchanged.`);
    throw error;
  } finally {
    endProgress();
  }
};

const INTERRUPTED = 'The export was interrupted and is not complete.';
