import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../errors.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { createTextDecoder } from './decode-text.ts';
import { type ImportRow, toRow } from './import.ts';
import { createCsvReader } from './read-csv.ts';
import { createNdjsonReader, parseElement } from './read-json.ts';

/** How long to work before other requests get a turn, in ms. */
const TURN = 1;
/** How many turns others get after each: a single request needs several. They cost nothing while there are none. */
const TURNS_OF_OTHERS = 3;

type FileOptions = {
  format: 'csv' | 'ndjson';
  /** See `createTextDecoder`. */
  encoding?: string | undefined;
  /** See `createCsvReader`. */
  delimiter?: string | undefined;
  /** The maximum size of a row in bytes of UTF-8. */
  maxLineBytes: number;
  /** The maximum size of the file in bytes. */
  maxBytes?: number | undefined;
};

/**
 * Reads the rows of a file, those of a turn at a time.
 * @throws {StoreError} 1002 the file is too large; errors of `pieces`, of `createTextDecoder` and of the format's reader
 */
export async function* readRows(
  pieces: AsyncIterable<Buffer>,
  { format, encoding, maxBytes = Number.POSITIVE_INFINITY, ...options }: FileOptions,
): AsyncGenerator<ImportRow[]> {
  const decode = await createTextDecoder(encoding);
  const rowsIn = format === 'csv' ? createCsvReader(options) : createNdjsonReader(options);
  let bytes = 0;
  yield* inTurns(pieces, (piece) => {
    bytes += piece?.length ?? 0;
    if (bytes > maxBytes) throw new StoreError('bodyTooLarge', `The import must be at most ${maxBytes} bytes.`);
    return rowsIn(decode(piece), piece === undefined);
  });
}

/**
 * Reads the rows of a JSON array of NewPlants. The line of a row is the number of its element, from 1.
 * @throws {StoreError} errors of `readArray` and `parseElement`
 */
export async function* readElements(array: Promise<Iterable<string>>): AsyncGenerator<ImportRow[]> {
  yield* inTurns([await array], function* (elements: Iterable<string> = []) {
    let line = 0;
    for (const text of elements) {
      line += 1;
      const element = parseElement(text, line);
      yield toRow(line, newPlantSchema, 'The element', () => element);
    }
  });
}

/**
 * Divides long work into turns, so that it does not block the event loop. By time, because the cost of a byte varies: short
 * rows that fail cost a hundred times as much as long ones.
 * @param rowsIn is called with each piece, and without one at the end. It works while its result is iterated; undefined
 *   stands for work without a row
 * @returns the rows of each turn. Those before an error come first.
 */
async function* inTurns<Piece>(
  pieces: AsyncIterable<Piece> | Iterable<Piece>,
  rowsIn: (piece?: Piece) => Iterable<ImportRow | undefined>,
): AsyncGenerator<ImportRow[]> {
  let rows: ImportRow[] = [];
  let endsAt = performance.now() + TURN;
  const nextTurn = async () => {
    for (let turn = 0; turn < TURNS_OF_OTHERS; turn++) await setImmediate();
    endsAt = performance.now() + TURN;
  };
  for await (const piece of withEnd(pieces)) {
    try {
      for (const row of rowsIn(piece)) {
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

async function* withEnd<Piece>(pieces: AsyncIterable<Piece> | Iterable<Piece>): AsyncGenerator<Piece | undefined> {
  yield* pieces;
  yield undefined;
}
