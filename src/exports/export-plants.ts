import type { Readable } from 'node:stream';
import { OverloadedError } from '../batching/batch-queue.ts';
import { type BulkTrace, untraced } from '../batching/bulk-trace.ts';
import { isStatementTimeout } from '../database/database-error.ts';
import { openRowStream, type RowStreamOptions } from '../database/row-stream.ts';
import { SilenceError } from '../database/silence-timeout.ts';
import { SearchTimeoutError } from '../plants/plant-errors.ts';
import { type PlantFilter, selectPlants } from '../plants/plant-pages.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

type PlantExportsOptions = {
  database: RowStreamOptions;
  /** The maximum number of concurrent exports. Each has its own connection. */
  limit: number;
  trace?: BulkTrace | undefined;
};

/** `rows`: plants read by all exports since the process started. */
export type ExportCounts = { inProgress: number; rows: number };

type ReadOptions = PlantFilter & {
  format: ExportFormat;
  /** Called for each plant that is read. */
  onRow?: () => void;
  /** Ends the export. */
  signal: AbortSignal;
};

export const createPlantExports = ({ database, limit, trace = untraced }: PlantExportsOptions) => {
  const counts: ExportCounts = { inProgress: 0, rows: 0 };
  return {
    counts: counts as Readonly<ExportCounts>,
    /**
     * Reads all plants that match, ordered by id, as of a single point in time. Has no timeout as a whole.
     * @param use called once there are bytes to read, so an earlier error can still set the response status
     * @throws {OverloadedError} {SearchTimeoutError} errors of PostgreSQL and of `use`
     */
    read: async (options: ReadOptions, use: (bytes: Readable) => Promise<void>): Promise<void> => {
      if (counts.inProgress >= limit) throw new OverloadedError('Too many exports are in progress.');
      const { format, onRow, signal, ...filter } = options;
      const { head, write } = rowWriters[format];
      let rows = 0;
      const writeAndCount = (row: PlantRow) => {
        rows += 1;
        counts.rows += 1;
        onRow?.();
        return write(row);
      };
      // A search by name may find few plants by an index that is not in the order of ids.
      const maySort = filter.nameContains !== undefined;
      const { text, values } = selectPlants(filter);
      counts.inProgress += 1;
      try {
        await trace('export', async (note) => {
          const statement = { sql: { text, values }, maySort, head, write: writeAndCount, signal };
          try {
            const bytes = await openRowStream(database, statement).catch(rethrowFor(filter));
            await use(bytes).finally(() => bytes.destroy());
          } finally {
            note({ rows });
          }
        });
      } finally {
        counts.inProgress -= 1;
      }
    },
  };
};

export type PlantExports = ReturnType<typeof createPlantExports>;

/** A search that finds nothing for too long is slow; the database is reachable. */
const rethrowFor = ({ tag, nameContains }: PlantFilter) => {
  const isSearch = tag !== undefined || nameContains !== undefined;
  return (error: unknown): never => {
    const isSlow = isSearch && (error instanceof SilenceError || isStatementTimeout(error));
    throw isSlow ? new SearchTimeoutError('The search took too long.', { cause: error }) : error;
  };
};
