/** The longest that an int64 can be: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Commas and opening brackets, and how deep these are nested: far more than a plant needs. Objects take up to 30 times the
 * memory of their text, so the text is checked before they are built.
 */
const MAX_SEPARATORS = 20_000;
const MAX_DEPTH = 100;

/** A JSON text has more values, or nests them deeper, than is read (RFC 8259 §9). */
export class JsonTooComplexError extends Error {
  override name = 'JsonTooComplexError';

  constructor() {
    super(`more than ${MAX_SEPARATORS} commas and brackets, or more than ${MAX_DEPTH} levels of them`);
  }
}

/**
 * Parses JSON as `JSON.parse` does, except that the number of a top-level member named `id` becomes a bigint, exact to
 * the last digit, where its value is an integer: `1.0` and `1e3` are (JSON Schema 2020-12 §6.1.1). A number that is
 * not an integer, or too long for an int64, stays a double, which is how the schema tells that it is wrong.
 * @throws {SyntaxError} where the text is not JSON (RFC 8259)
 * @throws {JsonTooComplexError}
 */
export const parseExactJson = (text: string): unknown => {
  const source = scan(text);
  const value = JSON.parse(text) as { id?: unknown } | null;
  // A reviver would give the number's text too, but takes 40 times as long on a body of many small values.
  if (typeof value?.id === 'number') value.id = exactInteger(source) ?? value.id;
  return value;
};

const [QUOTE, BACKSLASH, COLON, COMMA] = ['"', '\\', ':', ','].map((character) => character.charCodeAt(0));
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = ['{', '}', '[', ']'].map((character) => character.charCodeAt(0));

/**
 * Looks through a text that may be JSON.
 * @returns the digits of the last top-level member named `id`, if the text is JSON and that is a number
 */
const scan = (text: string): string => {
  let source = '';
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
      if (depth > MAX_DEPTH || ++separators > MAX_SEPARATORS) throw new JsonTooComplexError();
    } else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (code === COMMA) {
      if (++separators > MAX_SEPARATORS) throw new JsonTooComplexError();
      if (depth === 1) name = '';
    } else if (depth === 1 && code === COLON) {
      if (isId(name)) source = numberAt(text, index + 1) ?? source;
      // A text that is not JSON may have many colons behind a long name.
      name = '';
    }
  }
  return source;
};

/** The index of the quote that ends the string at `start`; the length of the text where none does. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
};

/** A name may be written with escapes: "\u0069d" is `id` too. */
const isId = (name: string): boolean => name === '"id"' || (name.includes('\\') && JSON.parse(name) === 'id');

const numberAt = (text: string, start: number): string | undefined => {
  const pattern = /\s*(-?\d[\d.eE+-]*)/y;
  pattern.lastIndex = start;
  return pattern.exec(text)?.[1];
};

/** The value of a JSON number, from its digits alone; undefined where it is no integer or has more than 19 digits. */
const exactInteger = (source: string): bigint | undefined => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = whole + fraction;
  // Loops, as a pattern such as /0+$/ takes quadratic time on a number of a million zeros.
  let start = 0;
  while (start < digits.length && digits[start] === '0') start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - start + zeros > INT64_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
};
