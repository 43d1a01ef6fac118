import type { Readable } from 'node:stream';
import { isStatementTimeout } from '../database/database-error.ts';
import { openRowStream, type RowStreamOptions } from '../database/row-stream.ts';
import { SilenceError } from '../database/silence-timeout.ts';
import { StoreError } from '../errors.ts';
import type { PlantFilter } from '../plants/plant.ts';
import { selectPlants } from '../plants/plant-pages.ts';
import { type ExportFormat, type PlantRow, rowWriters } from './write-rows.ts';

export type ExportOptions = {
  format: ExportFormat;
  filter: PlantFilter;
  /** Called with the number of plants that are read. */
  onRows: (count: number) => void;
  /** Ends the export. */
  signal: AbortSignal;
};

/**
 * Opens a stream of all plants that match, as UTF-8 text, ordered by id, as of a single point in time.
 * @returns once there is something to read. It has a connection until it closes; destroy it unless you read to its end
 * @throws {StoreError} 1505 errors of PostgreSQL
 */
export const openExport = (
  database: RowStreamOptions,
  { format, filter, onRows, signal }: ExportOptions,
): Promise<Readable> => {
  const { head, write } = rowWriters[format];
  const writeAndCount = (row: PlantRow) => {
    onRows(1);
    return write(row);
  };
  // A search by name may find few plants by an index that is not in the order of ids.
  const maySort = filter.q !== undefined;
  const { text, values } = selectPlants(filter);
  const statement = { sql: { text, values }, maySort, head, write: writeAndCount, signal };
  return openRowStream(database, statement).catch((error) => {
    throw toExportError(error, filter);
  });
};

/** A search that finds nothing for too long is slow; the database is reachable. */
const toExportError = (error: unknown, { tag, q }: PlantFilter): unknown => {
  const isSearch = tag !== undefined || q !== undefined;
  const isSlow = isSearch && (error instanceof SilenceError || isStatementTimeout(error));
  return isSlow ? new StoreError('searchTooSlow', undefined, { cause: error }) : error;
};
