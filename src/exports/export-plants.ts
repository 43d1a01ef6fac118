import type { Readable } from 'node:stream';
import { type BulkTrace, createSlots, untraced } from '../batching/bulk.ts';
import { isStatementTimeout } from '../database/database-error.ts';
import { openRowStream, type RowStreamOptions } from '../database/row-stream.ts';
import { SilenceError } from '../database/silence-timeout.ts';
import { StoreError } from '../errors.ts';
import { type PlantFilter, selectPlants } from '../plants/plant-pages.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

type PlantExportsOptions = {
  database: RowStreamOptions;
  /** The maximum number of concurrent exports. Each has its own connection. */
  limit: number;
  trace?: BulkTrace | undefined;
};

type ReadOptions = PlantFilter & {
  /** The name of the token, which has at most half of the slots. */
  holder: string;
  format: ExportFormat;
  /** Counts the plants that are read. */
  progress: { rows: number };
  /** Ends the export. */
  signal: AbortSignal;
};

export const createPlantExports = ({ database, limit, trace = untraced }: PlantExportsOptions) => {
  const slots = createSlots(limit, 'exports');
  let rows = 0;
  return {
    inProgress: slots.taken,
    /** Plants read by all exports since the process started. */
    rows: (): number => rows,
    /**
     * Reads all plants that match, ordered by id, as of a single point in time. Has no overall timeout.
     * @param use called once there are bytes to read, so an earlier error can still set the response status
     * @throws {StoreError} 1500, 1505 errors of PostgreSQL and of `use`
     */
    read: async (options: ReadOptions, use: (bytes: Readable) => Promise<void>): Promise<void> => {
      const { holder, format, progress, signal, ...filter } = options;
      const { head, write } = rowWriters[format];
      const writeAndCount = (row: PlantRow) => {
        rows += 1;
        progress.rows += 1;
        return write(row);
      };
      // A search by name may find few plants by an index that is not in the order of ids.
      const maySort = filter.nameContains !== undefined;
      const { text, values } = selectPlants(filter);
      const statement = { sql: { text, values }, maySort, head, write: writeAndCount, signal };
      const release = slots.take(holder);
      await trace('export', async (note) => {
        try {
          const bytes = await openRowStream(database, statement).catch((error) => {
            throw toExportError(error, filter);
          });
          await use(bytes).finally(() => bytes.destroy());
        } finally {
          note({ rows: progress.rows });
          release();
        }
      });
    },
  };
};

/** A search that finds nothing for too long is slow; the database is reachable. */
const toExportError = (error: unknown, { tag, nameContains }: PlantFilter): unknown => {
  const isSearch = tag !== undefined || nameContains !== undefined;
  const isSlow = isSearch && (error instanceof SilenceError || isStatementTimeout(error));
  return isSlow ? new StoreError('searchTooSlow', undefined, { cause: error }) : error;
};

export type PlantExports = ReturnType<typeof createPlantExports>;
