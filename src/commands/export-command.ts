import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { z } from 'zod';
import { COMMAND_CONNECT_TIMEOUT } from '../database/database.ts';
import { OperationalError } from '../errors.ts';
import { type ExportOptions, openExport } from '../exports/export-plants.ts';
import { type ExportFormat, exportFormats, rowWriters } from '../exports/write-rows.ts';
import { plantQuerySchema } from '../plants/plant.ts';
import { formatCount } from '../quote-value.ts';
import { formatOf, formatOption, STDIO, writeFileBytes } from './bulk-file.ts';
import { parseOnce } from './option-parsers.ts';
import { describeProgress, note, showProgress } from './output.ts';
import { notPlantStore, RemoteError, type RemoteService, readResult, send } from './remote-service.ts';
import { addServiceOptions, type CommandSettings, serviceOf } from './service-options.ts';
import { interruptible } from './stop-signal.ts';
import { withSession } from './with-database.ts';

type CommandOptions = { format?: ExportFormat; tag?: string; q?: string };

export const addExportCommand = (program: Command, { config, environment }: CommandSettings): void => {
  const command = program
    .command('export')
    .description('export all plants, or those that match, as of a single point in time')
    .argument('[file]', 'file to write (.gz is compressed; - writes standard output)', STDIO)
    .addOption(formatOption())
    .option('--tag <tag>', 'only plants with this tag', parseOnce(plantQuerySchema.shape.tag))
    .option(
      '--q <text>',
      'only plants whose name contains this text, ignoring case',
      parseOnce(plantQuerySchema.shape.q),
    );
  addServiceOptions(command).action(async (file: string, { format, tag, q }: CommandOptions) => {
    const service = serviceOf(command, environment);
    const target = formatOf(command, file, exportFormats, format);
    let rows = 0;
    const onRows = (count: number) => {
      rows += count;
    };
    await interruptible((signal) => {
      const run = async (exportPlants: ExportPlants) => {
        using _shown = showProgress((seconds) => describeProgress(seconds, rows));
        try {
          const bytes = await exportPlants({ filter: { tag, q }, format: target.format, onRows, signal });
          await writeFileBytes(file, target, { bytes, signal }).finally(() => bytes.destroy());
        } catch (error) {
          if (!signal.aborted) throw error;
          const state = file === STDIO ? '' : ` ${file} is unchanged.`;
          throw new OperationalError(`The export was interrupted and is not complete.${state}`);
        }
      };
      if (service) return run(exportFromService(service));
      const connectTimeout = COMMAND_CONNECT_TIMEOUT;
      return withSession(config(), (url) => run((plants) => openExport({ url, connectTimeout }, plants)));
    });
    note(`Exported ${formatCount(rows)} plants.`);
  });
};

/** Opens a stream of the plants that match, as text in UTF-8. Destroy it unless it is read to its end. */
type ExportPlants = (options: ExportOptions) => Promise<Readable>;

/** @throws {RemoteError}, also while the stream is read */
const exportFromService =
  (service: RemoteService): ExportPlants =>
  async ({ format, filter, onRows, signal }) => {
    const response = await send(service, { path: '/plants/export', query: { format, ...filter }, signal });
    const { statusCode, headers } = response;
    if (statusCode !== 200) await readResult(response, service, z.never());
    // Without either, nobody can tell whether all has arrived.
    const isDelimited = headers['transfer-encoding'] === 'chunked' || 'content-length' in headers;
    const { type } = rowWriters[format];
    if (!headers['content-type']?.startsWith(type.replace(/;.*/, '')) || !isDelimited)
      throw notPlantStore(response, service.url);
    const count = createRowCounter(format);
    return Readable.from(
      (async function* () {
        try {
          for await (const chunk of response) {
            onRows(count(chunk));
            yield chunk;
          }
        } catch (cause) {
          throw new RemoteError(INCOMPLETE, 'not sent', cause);
        }
      })(),
    );
  };

const INCOMPLETE =
  'The connection was lost, so the export is not complete. Try again. The service may have stopped, the token may have been revoked, or the export took too long: see EXPORT_TIMEOUT.';

const [LINE_FEED, QUOTE] = [10, 34];

/** @returns a function that counts the plants that end in a chunk. In CSV, names may have line ends within quotes. */
const createRowCounter = (format: ExportFormat) => {
  // The first line of CSV is no plant.
  let lines = format === 'csv' ? -1 : 0;
  let isQuoted = false;
  return (chunk: Buffer): number => {
    const before = Math.max(0, lines);
    for (const byte of chunk) {
      if (byte === QUOTE && format === 'csv') isQuoted = !isQuoted;
      if (byte === LINE_FEED && !isQuoted) lines += 1;
    }
    return Math.max(0, lines) - before;
  };
};
