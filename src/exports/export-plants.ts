import type { Readable } from 'node:stream';
import { OverloadedError } from '../batching/batch-queue.ts';
import { type BulkTrace, untraced } from '../batching/bulk-trace.ts';
import { isStatementTimeout } from '../database/database-error.ts';
import type { RowStreams } from '../database/row-stream.ts';
import { SilenceError } from '../database/silence-timeout.ts';
import { SearchTimeoutError } from '../plants/plant-errors.ts';
import { type PlantFilter, selectPlants } from '../plants/plant-pages.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

type PlantExportsOptions = {
  rowStreams: Pick<RowStreams, 'open'>;
  /** The maximum number of concurrent exports. */
  limit: number;
  trace?: BulkTrace | undefined;
};

/** `rows`: plants read by all exports since the process started. */
export type ExportCounts = { inProgress: number; rows: number };

type ReadOptions = PlantFilter & {
  format: ExportFormat;
  /** Called for each plant that is read. */
  onRow: () => void;
  /** Ends the export. */
  signal: AbortSignal;
};

export const createPlantExports = ({ rowStreams, limit, trace = untraced }: PlantExportsOptions) => {
  const counts: ExportCounts = { inProgress: 0, rows: 0 };
  return {
    counts: counts as Readonly<ExportCounts>,
    /**
     * Reads all plants that match, ordered by id, as of a single point in time. Has no timeout as a whole.
     * @param use called once there are bytes to read, so an earlier error can still set the response status
     * @throws {OverloadedError} {SearchTimeoutError} errors of PostgreSQL and of `use`
     */
    read: async (
      { format, onRow, signal, ...filter }: ReadOptions,
      use: (bytes: Readable) => Promise<void>,
    ): Promise<void> => {
      if (counts.inProgress >= limit) throw new OverloadedError('Too many exports are in progress.');
      counts.inProgress += 1;
      let bytes: Readable | undefined;
      let rows = 0;
      try {
        await trace('export', async (note) => {
          try {
            bytes = await rowStreams.open<PlantRow>({
              ...rowWriters[format],
              statement: selectPlants(filter),
              // A search finds few plants, and perhaps by an index that is not in the order of ids.
              maySort: filter.nameContains !== undefined,
              signal,
              onRow: () => {
                rows += 1;
                counts.rows += 1;
                onRow();
              },
            });
            await use(bytes);
          } catch (error) {
            const isSearch = filter.tag !== undefined || filter.nameContains !== undefined;
            throw isSearch && isSilence(error)
              ? new SearchTimeoutError('The search took too long.', { cause: error })
              : error;
          } finally {
            note({ rows });
          }
        });
      } finally {
        bytes?.destroy();
        counts.inProgress -= 1;
      }
    },
  };
};

export type PlantExports = ReturnType<typeof createPlantExports>;

const isSilence = (error: unknown): boolean => error instanceof SilenceError || isStatementTimeout(error);
