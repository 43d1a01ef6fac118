import { Readable } from 'node:stream';
import { z } from 'zod';
import type { OpenOptions } from '../exports/export-plants.ts';
import { type ExportFormat, rowWriters } from '../exports/write-rows.ts';
import { notPlantStore, RemoteError, type RemoteService, readResult, send } from './remote-service.ts';

/** Opens a stream of the plants that match, as text in UTF-8. Destroy it unless it is read to its end. */
export type ExportPlants = (options: OpenOptions) => Promise<Readable>;

/** @throws {RemoteError}, also while the stream is read */
export const exportFromService =
  (service: RemoteService): ExportPlants =>
  async ({ format, filter, progress, signal }) => {
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
            progress.rows += count(chunk);
            yield chunk;
          }
        } catch (cause) {
          throw new RemoteError(INCOMPLETE, 'not sent', cause);
        }
      })(),
    );
  };

const INCOMPLETE =
  'The connection was lost, so the export is not complete. Try again. The service may have stopped, or the export took too long: see EXPORT_TIMEOUT.';

const [LINE_FEED, QUOTE] = [10, 34];

/** @returns a function that counts the plants that end in a chunk. In CSV, names may have line ends within quotes. */
const createRowCounter = (format: ExportFormat) => {
  let isHead = format === 'csv';
  let isQuoted = false;
  return (chunk: Buffer): number => {
    let rows = 0;
    for (const byte of chunk) {
      if (byte === QUOTE && format === 'csv') isQuoted = !isQuoted;
      if (byte !== LINE_FEED || isQuoted) continue;
      if (!isHead) rows += 1;
      isHead = false;
    }
    return rows;
  };
};
