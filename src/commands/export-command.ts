import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { CONNECT_TIMEOUT } from '../database/database.ts';
import { OperationalError } from '../errors.ts';
import { createPlantExports } from '../exports/export-plants.ts';
import { type ExportFormat, exportFormats } from '../exports/write-rows.ts';
import { plantQuerySchema } from '../plants/plant.ts';
import type { PlantFilter } from '../plants/plant-pages.ts';
import { type FileFormat, formatOf, formatOption, STDIO, writeFileBytes } from './bulk-file.ts';
import { parseAs } from './option-parsers.ts';
import { describeProgress, showProgress } from './output.ts';
import { interruptible } from './stop-signal.ts';
import { withSession } from './with-database.ts';

type ExportOptions = { format?: ExportFormat; tag?: string; q?: string };

export const addExportCommand = (program: Command, config: () => Config): void => {
  const command = program
    .command('export')
    .description('export all plants, or those that match, as of a single point in time')
    .argument('[file]', 'file to write (.gz is compressed; - writes standard output)', STDIO)
    .addOption(formatOption())
    .option('--tag <tag>', 'only plants with this tag', parseAs(plantQuerySchema.shape.tag))
    .option('--q <text>', 'only plants whose name contains this text, ignoring case', parseAs(plantQuerySchema.shape.q))
    .action(async (file: string, { format, tag, q: nameContains }: ExportOptions) => {
      const options = { file, format: formatOf(command, file, exportFormats, format), filter: { tag, nameContains } };
      const rows = await interruptible((signal) =>
        withSession(config(), (url) => exportTo({ ...options, signal, url })),
      );
      process.stderr.write(`Exported ${rows.toLocaleString('en-US')} plants.\n`);
    });
};

type ExportToOptions = { file: string; format: FileFormat; filter: PlantFilter; signal: AbortSignal; url: string };

/** @returns the number of plants. @throws {OperationalError} {OutputError} errors of PostgreSQL */
const exportTo = async ({ file, format, filter, signal, url }: ExportToOptions): Promise<number> => {
  const { open } = createPlantExports({ database: { url, connectTimeout: 2 * CONNECT_TIMEOUT }, limit: 1 });
  const progress = { rows: 0 };
  const endProgress = showProgress((seconds) => describeProgress(seconds, progress.rows));
  try {
    const bytes = await open({ ...filter, holder: '', format: format.format, progress, signal });
    await writeFileBytes(file, format, { bytes, signal }).finally(() => bytes.destroy());
    return progress.rows;
  } catch (error) {
    if (!signal.aborted) throw error;
    const state = file === STDIO ? '' : ` ${file} is unchanged.`;
    throw new OperationalError(`The export was interrupted and is not complete.${state}`);
  } finally {
    endProgress();
  }
};
