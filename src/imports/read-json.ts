import { parseJsonText, splitElements } from '../bodies/exact-json.ts';
import { StoreError } from '../errors.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { formatCount } from '../quote-value.ts';
import { NUL_CHARACTERS } from './decode-text.ts';
import { type ImportRow, LINE_ENDS_LOST, toRow } from './import.ts';

/** How many blank lines to skip before looking at the clock. */
const CHECK_INTERVAL = 1000;
/** A CR may come from a program that wrote each CRLF as CR CR LF. */
const BLANK = /^[ \t\r]*$/;

/**
 * Creates a function that reads plants from NDJSON: one NewPlant per line, which ends with LF or CRLF. Ignores blank lines. A line of
 * more than `maxLineBytes` in UTF-8, without its line end, is a failed row and not kept in memory.
 */
export const createNdjsonReader = ({ maxLineBytes }: { maxLineBytes: number }) => {
  let line = 0;
  /** What has arrived of a line without its end. */
  let rest = '';
  return function* (text: string, isLast: boolean): Generator<ImportRow | undefined> {
    // The end of the file also ends its last line.
    const piece = isLast ? `${text}\n` : text;
    let start = 0;
    for (let end = piece.indexOf('\n'); end !== -1; end = piece.indexOf('\n', start)) {
      line += 1;
      const row = readLine(line, rest + piece.slice(start, end), maxLineBytes);
      // Looking at the clock takes as long as skipping a line, and a megabyte of gzip can become a billion of them.
      if (row !== undefined || line % CHECK_INTERVAL === 0) yield row;
      rest = '';
      start = end + 1;
    }
    // A line that is too long already, even without the CR of a CRLF, need not grow.
    if (rest.length <= maxLineBytes + 1) rest += piece.slice(start);
  };
};

/** @returns undefined for a blank line */
const readLine = (line: number, textWithReturn: string, maxBytes: number): ImportRow | undefined => {
  const text = textWithReturn.endsWith('\r') ? textWithReturn.slice(0, -1) : textWithReturn;
  // A character takes at most three bytes, and counting them takes time.
  const isTooLong = 3 * text.length > maxBytes && Buffer.byteLength(text) > maxBytes;
  if (!isTooLong && BLANK.test(text)) return undefined;
  const [, otherFormat] = (line === 1 && OTHER_FORMATS.find(([start]) => start.test(text))) || [];
  if (otherFormat) throw new StoreError('bodyNotJson', otherFormat);
  return toRow(line, newPlantSchema, 'The line', () => {
    if (isTooLong) throw new StoreError('bodyTooLarge', `The line must be at most ${maxBytes} bytes.`);
    return parseLine(text);
  });
};

/** @throws {StoreError} 1000, 1002 */
const parseLine = (text: string): unknown => {
  try {
    return parseJsonText(text, 'The line');
  } catch (error) {
    if (error instanceof StoreError && /\}\s*\{/.test(text)) error.message += ` ${LINE_ENDS_LOST}`;
    throw error;
  }
};

/**
 * Creates a function that reads the elements of a JSON array of at most `maxBytes` in UTF-8, whose text it collects: parsed as a
 * whole, that could take 30 times its memory, and a second. The line of an element is its number, from 1.
 */
export const createElementReader = (maxBytes: number) => {
  let all = '';
  let bytes = 0;
  /** @returns all elements at the end. @throws {StoreError} 1000, 1002 */
  return function* (piece: string, isLast: boolean): Generator<{ line: number; text: string; value: unknown }> {
    bytes += Buffer.byteLength(piece);
    if (bytes > maxBytes) throw arrayTooLarge(maxBytes);
    all += piece;
    let line = 0;
    for (const text of isLast ? elementsOf(all) : []) {
      line += 1;
      yield { line, text, value: parseJsonText(text, `The text of element ${line}`) };
    }
  };
};

/** Creates a function that reads plants from a JSON array of NewPlants, of at most `maxLineBytes` altogether. */
export const createArrayReader = ({ maxLineBytes }: { maxLineBytes: number }) => {
  const elementsIn = createElementReader(maxLineBytes);
  return function* (text: string, isLast: boolean): Generator<ImportRow> {
    for (const { line, value } of elementsIn(text, isLast))
      yield toRow(line, newPlantSchema, 'The element', () => value);
  };
};

/** What to do about an array that is too large. */
const LARGE_ARRAYS = " NDJSON may have any size: jq -c '.[]' converts a JSON array.";

export const arrayTooLarge = (limit: number) =>
  new StoreError('bodyTooLarge', `A JSON array must be at most ${formatCount(limit)} bytes.${LARGE_ARRAYS}`);

/** How the first line of a file begins that is no NDJSON, so that its lines would fail, and what to do. */
const OTHER_FORMATS: [start: RegExp, message: string][] = [
  [/^\s*\[(.*,)?\s*$/, `The file is a JSON array, not NDJSON.${LARGE_ARRAYS}`],
  [
    /^"?(id|name|tag)"?[,;\t]/i,
    'The file is CSV, not NDJSON: send Content-Type: text/csv; on the command line, use --format csv.',
  ],
  [/^.?\0/, NUL_CHARACTERS],
];

const NOT_AN_ARRAY =
  'The file is not a JSON array of plants. If it is NDJSON or CSV, send Content-Type: application/x-ndjson or text/csv; on the command ' +
  'line, use --format ndjson or csv.';

/** RFC 8259 §2. */
const NOT_BLANK = /[^ \t\r\n]/;

/** @throws {StoreError} 1000 */
const elementsOf = (text: string): Iterable<string> => {
  const [opening] = /^[ \t\r\n]*\[/.exec(text) ?? [];
  if (opening === undefined) throw new StoreError('bodyNotJson', NOT_AN_ARRAY);
  const end = text.lastIndexOf(']');
  if (end < opening.length || NOT_BLANK.test(text.slice(end + 1)))
    throw new StoreError('bodyNotJson', 'The file is not JSON: its array does not end with ].');
  const elements = text.slice(opening.length, end);
  return NOT_BLANK.test(elements) ? splitElements(elements) : [];
};
