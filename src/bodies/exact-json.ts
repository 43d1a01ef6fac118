import { StoreError } from '../errors.ts';

/** The maximum length of an int64: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Limits on commas and opening brackets, and on nesting: far more than a plant needs. Objects take up to 30 times the
 * memory of their text, so the text is checked before they are built.
 */
const MAX_SEPARATORS = 20_000;
const MAX_DEPTH = 100;

const tooComplex = () =>
  new RangeError(
    `more than ${MAX_SEPARATORS} commas and opening brackets, or more than ${MAX_DEPTH} levels of nesting`,
  );

/**
 * As most clients send a plant, with blanks (Python) or without (JavaScript): the id first, and no escape, object or array behind it.
 * A scan would take a fifth of an import.
 */
const PLAIN_OBJECT = /^\{ ?"id": ?(-?\d{1,19})(?:,[^\\{[]*)?\}$/;

/**
 * Parses JSON like `JSON.parse`, except that a member of the object named `id` becomes an exact bigint if it is an integer. `1.0` and
 * `1e3` are integers (JSON Schema 2020-12 §6.1.1). A number that is not an integer, or too long for an int64, keeps its text, as raw
 * JSON, which the schema rejects.
 * @throws {SyntaxError} if the text is not JSON (RFC 8259)
 * @throws {RangeError} if it has too many values or nests them too deep (RFC 8259 §9)
 */
export const parseExactJson = (text: string): unknown => {
  const [, plain] = (text.length <= MAX_SEPARATORS && PLAIN_OBJECT.exec(text)) || [];
  const source = plain !== undefined && text.lastIndexOf('"id"') <= 2 ? plain : findId(text);
  const value: unknown = JSON.parse(text);
  const object = value as { id?: unknown } | null;
  // A reviver could read the number's text too, but takes 40 times as long on a body of many small values.
  if (typeof object?.id === 'number') object.id = exactInteger(source) ?? rawJson(source);
  return value;
};

/** @param subject what a message calls the text. @throws {StoreError} 1000, 1002 */
export const parseJsonText = (text: string, subject: string): unknown => {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof RangeError) throw new StoreError('bodyTooLarge', `${subject} has ${error.message}.`);
    throw new StoreError('bodyNotJson', `${subject} is not JSON: ${(error as Error).message.toWellFormed()}.`);
  }
};

/** Like `JSON.stringify`, except that a bigint becomes a number with all of its digits. */
export const stringifyExact = (value: unknown): string =>
  JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? rawJson(String(member)) : member));

/** https://tc39.es/proposal-json-parse-with-source/; TypeScript has no types for it yet. */
const { rawJSON: rawJson } = JSON as JSON & { rawJSON: (text: string) => unknown };

const [QUOTE, BACKSLASH, COLON, COMMA] = ['"', '\\', ':', ','].map((character) => character.charCodeAt(0));
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = ['{', '}', '[', ']'].map((character) => character.charCodeAt(0));

/**
 * Scans a text that may not be valid JSON.
 * @returns the text of the last `id` of the object, if it is a number
 */
const findId = (text: string): string => {
  let id = '';
  let depth = 0;
  let separators = 0;
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (depth === 1) name = text.slice(index, end + 1);
      index = end;
    } else if (code === BRACE || code === BRACKET) {
      depth++;
      if (depth > MAX_DEPTH || ++separators > MAX_SEPARATORS) throw tooComplex();
    } else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (code === COMMA) {
      if (++separators > MAX_SEPARATORS) throw tooComplex();
      if (depth === 1) name = '';
    } else if (depth === 1 && code === COLON) {
      if (isId(name)) id = numberAt(text, index + 1) ?? id;
      // Invalid JSON may have many colons after a long name, and isId takes time.
      name = '';
    }
  }
  return id;
};

/** Splits the text between the brackets of an array into those of its elements, which may not be JSON. */
export function* splitElements(text: string): Generator<string> {
  let start = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === BRACE || code === BRACKET) depth++;
    else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (code === COMMA && depth === 0) {
      yield text.slice(start, index);
      start = index + 1;
    }
  }
  yield text.slice(start);
}

/** The index of the quote that ends the string at `start`; the length of the text if there is none. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
};

/** A name may contain escapes: "\u0069d" is `id` too. */
const isId = (name: string): boolean => name === '"id"' || (name.includes('\\') && JSON.parse(name) === 'id');

const numberAt = (text: string, start: number): string | undefined => {
  const pattern = /\s*(-?\d[\d.eE+-]*)/y;
  pattern.lastIndex = start;
  return pattern.exec(text)?.[1];
};

/** Nearly every id. */
const PLAIN = /^-?\d{1,19}$/;

/** The exact value of a JSON number; undefined if it is not an integer or has more than 19 digits. */
const exactInteger = (source: string): bigint | undefined => {
  if (PLAIN.test(source)) return BigInt(source);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  // Takes linear time. A pattern such as /0+$/ takes quadratic time on a number with a million zeros.
  const [, significant = '', zeros = ''] = /^0*(\d*[1-9])?(0*)$/.exec(whole + fraction) ?? [];
  if (significant === '') return 0n;
  const power = Number(exponent) - fraction.length + zeros.length;
  if (power < 0 || significant.length + power > INT64_DIGITS) return undefined;
  return BigInt(sign + significant + '0'.repeat(power));
};
