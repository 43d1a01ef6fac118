import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type BulkTrace, createSlots, untraced } from '../batching/bulk.ts';
import { isStatementTimeout } from '../database/database-error.ts';
import { openRowStream, type RowStreamOptions } from '../database/row-stream.ts';
import { SilenceError } from '../database/silence-timeout.ts';
import { StoreError } from '../errors.ts';
import type { PlantFilter } from '../plants/plant.ts';
import { selectPlants } from '../plants/plant-pages.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

type PlantExportsOptions = {
  database: RowStreamOptions;
  /** The maximum number of concurrent exports. Each has its own connection. */
  limit: number;
  trace?: BulkTrace | undefined;
};

export type OpenOptions = {
  /** The name of the token, which has at most half of the slots. */
  holder?: string | undefined;
  format: ExportFormat;
  filter: PlantFilter;
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
     * Opens a stream of all plants that match, as UTF-8 text, ordered by id, as of a single point in time.
     * @returns once there is something to read. The stream has a slot until it closes; destroy it unless you read to its end
     * @throws {StoreError} 1500, 1505 errors of PostgreSQL
     */
    open: async ({ holder = '', format, filter, progress, signal }: OpenOptions): Promise<Readable> => {
      const { head, write } = rowWriters[format];
      const writeAndCount = (row: PlantRow) => {
        rows += 1;
        progress.rows += 1;
        return write(row);
      };
      // A search by name may find few plants by an index that is not in the order of ids.
      const maySort = filter.q !== undefined;
      const { text, values } = selectPlants(filter);
      const statement = { sql: { text, values }, maySort, head, write: writeAndCount, signal };
      const release = slots.take(holder);
      const opened = openRowStream(database, statement).catch((error) => {
        throw toExportError(error, filter);
      });
      trace('export', async (note) => {
        try {
          // The reader of the stream gets its error.
          await finished(await opened).catch(() => {});
        } finally {
          note({ rows: progress.rows });
          release();
        }
      }).catch(() => {});
      return opened;
    },
  };
};

/** A search that finds nothing for too long is slow; the database is reachable. */
const toExportError = (error: unknown, { tag, q }: PlantFilter): unknown => {
  const isSearch = tag !== undefined || q !== undefined;
  const isSlow = isSearch && (error instanceof SilenceError || isStatementTimeout(error));
  return isSlow ? new StoreError('searchTooSlow', undefined, { cause: error }) : error;
};
