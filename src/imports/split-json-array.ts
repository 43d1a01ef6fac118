import { endOfString } from '../bodies/exact-json.ts';
import { StoreError } from '../errors.ts';

/** How many characters to read before giving others a turn, within an element. */
const CHECK_INTERVAL = 1024;
const BLANK = /^[ \t\n\r]*$/;
const [QUOTE, COMMA] = [0x22, 0x2c];
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/**
 * Splits a JSON array into the texts of its elements, numbered from 1. Does not check that these are JSON.
 * @returns the elements, and undefined now and then within a long one
 * @throws {StoreError} 1000 if the text is not an array
 */
export function* splitJsonArray(text: string): Generator<{ element: string; line: number } | undefined> {
  const first = text.indexOf('[');
  if (first === -1 || !BLANK.test(text.slice(0, first))) throw notAnArray('it does not start with a bracket');
  let start = first + 1;
  let line = 0;
  let depth = 0;
  let nextCheck = start + CHECK_INTERVAL;
  let index = start;
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
      nextCheck = start + CHECK_INTERVAL;
    }
    if (index < nextCheck) continue;
    nextCheck = index + CHECK_INTERVAL;
    yield undefined;
  }
  if (text[index] !== ']' || !BLANK.test(text.slice(index + 1)))
    throw notAnArray('the closing bracket is missing or misplaced');
  const element = text.slice(start, index);
  if (line > 0 || !BLANK.test(element)) yield { element, line: line + 1 };
}

const notAnArray = (why: string) => new StoreError('bodyNotJson', `The JSON is not an array: ${why}.`);
