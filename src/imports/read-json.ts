import { createByteBuffer } from '../bodies/byte-buffer.ts';
import { decodeText, parseJson, parseJsonText } from '../bodies/read-json-body.ts';
import { errors, StoreError } from '../errors.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { formatCount, type ImportRow, type OnNoRows } from './import.ts';
import { splitJsonArray } from './split-json-array.ts';
import { type Line, splitLines } from './split-lines.ts';
import { inTurns } from './take-turns.ts';
import { toRow, toRowError } from './to-row.ts';

/**
 * Reads plants from NDJSON: one NewPlant per line. Ignores blank lines. A line of more than `maxLineBytes`, without its line
 * ending, is a failed row and not kept in memory.
 */
export async function* readNdjson(
  chunks: AsyncIterable<Buffer>,
  { maxLineBytes, onNoRows }: { maxLineBytes: number; onNoRows?: OnNoRows | undefined },
): AsyncGenerator<ImportRow[]> {
  let hasRows = false;
  const rowsOf = function* (lines: Iterable<Line>) {
    for (const { line, bytes } of lines) {
      if (bytes === undefined) yield toRowError(line, lineTooLong(maxLineBytes));
      else if (!isBlank(bytes)) yield toRow(line, newPlantSchema, 'The line', () => parseJson(bytes, 'The line'));
      // Looking at the clock takes as long as skipping a line, and a megabyte of gzip can become a billion of them.
      else if (line % CHECK_INTERVAL === 0) yield undefined;
    }
  };
  for await (const rows of inTurns(splitLines(chunks, { maxLineBytes }), rowsOf)) {
    hasRows ||= rows.length > 0;
    yield rows;
  }
  if (!hasRows) onNoRows?.('The file has no rows: it is empty or has only blank lines.');
}

/** How many blank lines to skip before looking at the clock. */
const CHECK_INTERVAL = 1000;
const [TAB, SPACE] = [9, 32];

const isBlank = (bytes: Buffer): boolean => {
  for (const byte of bytes) if (byte !== SPACE && byte !== TAB) return false;
  return true;
};

const lineTooLong = (limit: number) => new StoreError('bodyTooLarge', `The line must be at most ${limit} bytes.`);

/** Reads the plants of a file that is a JSON array; see `readJsonArray`. @throws {StoreError} 1000, 1002 */
export async function* readJson(
  chunks: AsyncIterable<Buffer>,
  { maxBytes, onNoRows }: { maxBytes: number; onNoRows?: OnNoRows | undefined },
): AsyncGenerator<ImportRow[]> {
  const file = createByteBuffer(maxBytes);
  for await (const chunk of chunks) if (!file.add(chunk)) throw arrayTooLarge(maxBytes);
  yield* readJsonArray(decodeText(file.take() as Buffer, 'The file'), onNoRows);
}

const arrayTooLarge = (limit: number) =>
  new StoreError(
    'bodyTooLarge',
    `A JSON array must be at most ${formatCount(limit)} bytes. NDJSON may have any size: jq -c '.[]' converts it.`,
  );

/**
 * Reads plants from a JSON array of NewPlants. The line of a row is the number of its element, from 1. Parses one element at
 * a time, because the objects can take 30 times the memory of their text.
 * @throws {StoreError} 1000 before the first row, if the text is not a JSON array
 */
export async function* readJsonArray(text: string, onNoRows?: OnNoRows): AsyncGenerator<ImportRow[]> {
  // Checks the whole text first, so that no row of invalid JSON is stored.
  for await (const _ of inTurns([text], checkElements));
  let hasRows = false;
  for await (const rows of inTurns([text], rowsOfElements)) {
    hasRows ||= rows.length > 0;
    yield rows;
  }
  if (!hasRows) onNoRows?.('The file has no rows: its array is empty.');
}

function* checkElements(text: string): Generator<undefined> {
  for (const found of splitJsonArray(text)) {
    try {
      if (found) parseJsonText(found.element, `Element ${found.line}`);
    } catch (error) {
      // An element with too many values is a failed row.
      if (!(error instanceof StoreError) || error.code !== errors.bodyTooLarge.code) throw error;
    }
    yield undefined;
  }
}

function* rowsOfElements(text: string): Generator<ImportRow | undefined> {
  for (const found of splitJsonArray(text)) {
    yield found && toRow(found.line, newPlantSchema, 'The element', () => parseJsonText(found.element, 'The element'));
  }
}
