import { OutcomeUnknownError } from '../database/database-error.ts';
import { StoreError } from '../errors.ts';
import { lengthOf } from '../plants/plant.ts';
import {
  type ImportOptions,
  type ImportSummary,
  NO_COUNTS,
  NO_ROWS,
  type PlantRow,
  type ReadRows,
  type RowError,
  summarize,
} from './import.ts';
import { ImportInterruptedError } from './import-errors.ts';
import type { ImportSession, ImportSessions } from './import-session.ts';
import { COPY_STAGED_ROWS, CREATE_STAGED_ROWS, rowsAsValues, STAGED_ROWS } from './import-statements.ts';
import { type StoreOutcome, storeRows } from './store-rows.ts';

/** The limits of a slice: rows, and characters of their names and tags. */
const MAX_SLICE_ROWS = 5000;
const MAX_SLICE_LENGTH = 1_048_576;

/** The number of rows read so far. `storingSince`: when storing them began, in ms of `performance.now()`. */
export type ImportProgress = { rows: number; storingSince?: number | undefined };

type ImportSettings = {
  sessions: Pick<ImportSessions, 'open'>;
  /** Ends the import, until its commit. */
  ending: AbortController;
  /** How long to wait for a row, in ms. Default: without limit. */
  rowTimeout?: number;
  /** Is kept up to date. */
  progress?: ImportProgress;
};

/**
 * Imports plants in one transaction, which begins when all rows have arrived. Until then they are kept in a temporary table, a slice
 * at a time, so that memory is bounded; a slice that is the whole import goes into the statement itself.
 * @throws {ImportInterruptedError} its cause is the error of the rows or the database, or the reason of `ending`
 */
export const importPlants = async (
  read: ReadRows,
  options: ImportOptions,
  { sessions, ending, rowTimeout, progress = { rows: 0 } }: ImportSettings,
): Promise<ImportSummary> => {
  const { signal } = ending;
  const errors: RowError[] = [];
  let session: ImportSession | undefined;
  let staging: Promise<unknown> = Promise.resolve();
  let slice: PlantRow[] = [];
  let length = 0;
  let count = 0;
  let lastLine = 0;

  /** Sends the slice while the next one is read. */
  const stage = async () => {
    const rows = slice;
    slice = [];
    length = 0;
    await staging;
    if (session === undefined) {
      session = await sessions.open(ending);
      await session.query(CREATE_STAGED_ROWS);
    }
    staging = session.copy(COPY_STAGED_ROWS, rows);
    // The client may pause, or never send the end.
    staging.catch((error) => ending.abort(error));
  };

  const add = async (row: PlantRow) => {
    const rowLength = lengthOf(row.plant);
    if (slice.length === MAX_SLICE_ROWS || (slice.length > 0 && length + rowLength > MAX_SLICE_LENGTH)) await stage();
    slice.push(row);
    length += rowLength;
    count += 1;
    lastLine = row.line;
  };

  const onStalled = () => ending.abort(new StoreError('requestTooSlow', 'The body has had no row for too long.'));
  const startTimer = () => (rowTimeout === undefined ? undefined : setTimeout(onStalled, rowTimeout));

  const readAll = async () => {
    let timer = startTimer();
    try {
      for await (const rows of read(signal)) {
        signal.throwIfAborted();
        if (rows.length === 0) continue;
        clearTimeout(timer);
        for (const row of rows) {
          if ('plant' in row) await add(row);
          else errors.push(row);
          if (errors.length > options.maxErrors) return;
        }
        progress.rows = count;
        timer = startTimer();
      }
    } finally {
      clearTimeout(timer);
    }
  };

  const store = async (): Promise<StoreOutcome> => {
    if (session !== undefined && slice.length > 0) await stage();
    await staging;
    if (count === 0 || errors.length > options.maxErrors) return { ...NO_COUNTS, errors: [] };
    const source = session === undefined ? rowsAsValues(slice) : STAGED_ROWS;
    session ??= await sessions.open(ending);
    slice = [];
    progress.storingSince = performance.now();
    return storeRows(session, { source, count, lastLine, failed: errors.length }, options);
  };

  let isReusable = false;
  try {
    await readAll();
    const hasTable = session !== undefined;
    const { errors: others, ...counts } = await store();
    isReusable = !hasTable;
    const failed = errors.length + counts.failed;
    const message = count + errors.length === 0 ? NO_ROWS : undefined;
    return { message, ...summarize({ ...counts, failed }, [...errors, ...others], options) };
  } catch (error) {
    const isUnknown = error instanceof OutcomeUnknownError;
    throw new ImportInterruptedError(signal.aborted && !isUnknown ? signal.reason : error, errors, options);
  } finally {
    session?.release({ isReusable });
  }
};
