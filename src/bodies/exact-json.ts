import { StoreError } from '../errors.ts';

/** The maximum length of an int64: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Limits on commas and opening brackets, and on nesting: far more than a plant needs. Objects take up to 30 times the
 * memory of their text, so the text is checked before they are built.
 */
const MAX_SEPARATORS = 20_000;
const MAX_DEPTH = 100;

const tooComplex = (maxSeparators: number) =>
  new RangeError(`more than ${maxSeparators} commas and opening brackets, or more than ${MAX_DEPTH} levels of nesting`);

/**
 * As most clients send a plant, with blanks (Python) or without (JavaScript): the id first, and no escape, object or array behind it.
 * A scan would take a fifth of an import.
 */
const PLAIN_OBJECT = /^\{ ?"id": ?(-?\d{1,19})(?:,[^\\{[]*)?\}$/;

/**
 * Parses JSON like `JSON.parse`, except that a member named `id`, of the object or of each object in an array, becomes an exact
 * bigint if it is an integer. `1.0` and `1e3` are integers (JSON Schema 2020-12 §6.1.1). A number that is not an integer, or too
 * long for an int64, stays a double, which the schema rejects.
 * @throws {SyntaxError} if the text is not JSON (RFC 8259)
 * @throws {RangeError} if it has too many values or nests them too deep (RFC 8259 §9)
 */
export const parseExactJson = (text: string, maxSeparators = MAX_SEPARATORS): unknown => {
  const [, id] = (text.length <= maxSeparators && PLAIN_OBJECT.exec(text)) || [];
  const sources = id !== undefined && text.lastIndexOf('"id"') <= 2 ? [id] : findIds(text, maxSeparators);
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value)) for (const [index, element] of value.entries()) setExactId(element, sources[index]);
  else setExactId(value, sources[0]);
  return value;
};

/** @param subject what a message calls the text. @throws {StoreError} 1000, 1002 */
export const parseJsonText = (text: string, subject: string, maxSeparators?: number): unknown => {
  try {
    return parseExactJson(text, maxSeparators);
  } catch (error) {
    if (error instanceof RangeError) throw new StoreError('bodyTooLarge', `${subject} has ${error.message}.`);
    throw new StoreError('bodyNotJson', `${subject} is not JSON: ${(error as Error).message}.`);
  }
};

// A reviver could read the number's text too, but takes 40 times as long on a body of many small values.
const setExactId = (value: unknown, source = ''): void => {
  const plant = value as { id?: unknown } | null;
  if (typeof plant?.id === 'number') plant.id = exactInteger(source) ?? plant.id;
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
 * @returns the text of the last `id` of the object, or of each object in the array, if it is a number
 */
const findIds = (text: string, maxSeparators: number): string[] => {
  const sources: string[] = [];
  /** Of the members of the object, or of the objects in the array. */
  let idDepth = 1;
  let element = 0;
  let depth = 0;
  let separators = 0;
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (depth === idDepth) name = text.slice(index, end + 1);
      index = end;
    } else if (code === BRACE || code === BRACKET) {
      if (depth === 0 && code === BRACKET) idDepth = 2;
      depth++;
      if (depth > MAX_DEPTH || ++separators > maxSeparators) throw tooComplex(maxSeparators);
    } else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (code === COMMA) {
      if (++separators > maxSeparators) throw tooComplex(maxSeparators);
      if (depth === idDepth) name = '';
      else if (depth < idDepth) element++;
    } else if (depth === idDepth && code === COLON) {
      const source = isId(name) ? numberAt(text, index + 1) : undefined;
      if (source !== undefined) sources[element] = source;
      // Invalid JSON may have many colons after a long name, and isId takes time.
      name = '';
    }
  }
  return sources;
};

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
