import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import { createTextDecoder } from './decode-text.ts';
import type { ImportRow } from './import.ts';
import { createCsvReader } from './read-csv.ts';
import { createArrayReader, createNdjsonReader } from './read-json.ts';

/** How long to work before other requests get a turn, in ms. */
const TURN = 1;
/** How many turns others get after each: a single request needs several. They cost nothing while there are none. */
const TURNS_OF_OTHERS = 3;

export type FileOptions = {
  format: keyof typeof readers;
  /** See `createTextDecoder`. */
  encoding?: string | undefined;
  /** See `createCsvReader`. */
  delimiter?: string | undefined;
  /** The maximum size of a row, or of a JSON array, in bytes of UTF-8. */
  maxLineBytes: number;
  /** The maximum size of the file in bytes. */
  maxBytes?: number | undefined;
};

/**
 * Each creates a function that is called with each piece of the text. It works while its result is iterated: the rows that end in
 * the piece, and undefined now and then, since it can take long without a row.
 */
const readers = { csv: createCsvReader, ndjson: createNdjsonReader, json: createArrayReader };

/**
 * Reads the rows of a file in turns, so that it does not block the event loop. By time, because the cost of a byte varies: short
 * rows that fail cost a hundred times as much as long ones.
 * @returns the rows of each turn. Those before an error come first.
 * @throws {StoreError} 1002 the file is too large; errors of `pieces`, of `createTextDecoder` and of the format's reader
 */
export async function* readRows(
  pieces: AsyncIterable<Buffer>,
  { format, encoding, maxBytes = Number.POSITIVE_INFINITY, ...options }: FileOptions,
): AsyncGenerator<ImportRow[]> {
  const decode = await createTextDecoder(encoding);
  const rowsIn = readers[format](options);
  let bytes = 0;
  let rows: ImportRow[] = [];
  let endsAt = performance.now() + TURN;
  const nextTurn = async () => {
    for (let turn = 0; turn < TURNS_OF_OTHERS; turn++) await setImmediate();
    endsAt = performance.now() + TURN;
  };
  for await (const piece of withEnd(pieces)) {
    try {
      bytes += piece?.length ?? 0;
      if (bytes > maxBytes) throw importTooLarge(maxBytes);
      for (const row of rowsIn(decode(piece), piece === undefined)) {
        if (row !== undefined) rows.push(row);
        if (performance.now() < endsAt) continue;
        yield rows;
        rows = [];
        await nextTurn();
      }
    } catch (error) {
      yield rows;
      throw error;
    }
    // The next piece may take long to arrive.
    yield rows;
    rows = [];
    // Or many have arrived that have no rows, such as those of a long line.
    if (performance.now() >= endsAt) await nextTurn();
  }
}

export const importTooLarge = (limit: number) =>
  new StoreError('bodyTooLarge', `The import must be at most ${limit} bytes.`);

/** The pieces, and undefined for their end. */
export async function* withEnd<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece | undefined> {
  yield* pieces;
  yield undefined;
}
