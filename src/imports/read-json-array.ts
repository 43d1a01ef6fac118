import { endOfString } from '../bodies/exact-json.ts';
import { parseJsonText } from '../bodies/read-json-body.ts';
import { ApiError } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { newPlantSchema } from '../plants/plant.ts';
import { type ImportRow, toRow } from './import-row.ts';
import { createTurns } from './take-turns.ts';

/** How many characters to read before looking at the clock, within an element. */
const CHECK_INTERVAL = 1024;

/**
 * Reads plants from a JSON array of NewPlants. The line of a row is the number of its element, from 1. Parses one element at
 * a time, because the objects can take 30 times the memory of their text.
 * @throws {ApiError} 1000 before the first row, if the text is not a JSON array
 */
export async function* readJsonArray(text: string): AsyncGenerator<ImportRow> {
  // Checks the whole text first, so that no row of invalid JSON is stored.
  for await (const { element, line } of elementsOf(text)) {
    try {
      parseJsonText(element, `Element ${line} of the body`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== commonErrors.bodyTooLarge.code) throw error;
    }
  }
  for await (const { element, line } of elementsOf(text)) {
    yield toRow(line, newPlantSchema, 'The element', () => parseJsonText(element, 'The element'));
  }
}

const BLANK = /^[ \t\n\r]*$/;
const [QUOTE, COMMA] = [0x22, 0x2c];
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** Splits the array into the texts of its elements. Does not check that these are JSON. */
async function* elementsOf(text: string): AsyncGenerator<{ element: string; line: number }> {
  const first = text.indexOf('[');
  if (first === -1 || !BLANK.test(text.slice(0, first))) throw notAnArray('it does not start with a bracket');
  let start = first + 1;
  let line = 0;
  let depth = 0;
  let nextCheck = start + CHECK_INTERVAL;
  let index = start;
  const turns = createTurns();
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (OPENING.includes(code)) depth += 1;
    else if (CLOSING.includes(code)) {
      if (depth === 0) break;
      depth -= 1;
    } else if (code === COMMA && depth === 0) {
      line += 1;
      yield { element: text.slice(start, index), line };
      start = index + 1;
      nextCheck = start;
    }
    if (index < nextCheck) continue;
    nextCheck = index + CHECK_INTERVAL;
    if (turns.isOver()) await turns.yield();
  }
  if (text[index] !== ']' || !BLANK.test(text.slice(index + 1)))
    throw notAnArray('the closing bracket is missing or misplaced');
  const element = text.slice(start, index);
  if (line > 0 || !BLANK.test(element)) yield { element, line: line + 1 };
}

const notAnArray = (why: string) => new ApiError(commonErrors.bodyNotJson, `The body is not a JSON array: ${why}.`);
