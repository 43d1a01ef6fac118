/** The maximum length of an int64: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Limits on commas and opening brackets, and on nesting: far more than a plant needs. Objects take up to 30 times the
 * memory of their text, so the text is checked before they are built.
 */
const MAX_SEPARATORS = 20_000;
const MAX_DEPTH = 100;

const TOO_COMPLEX = `more than ${MAX_SEPARATORS} commas and opening brackets, or more than ${MAX_DEPTH} levels of nesting`;

/**
 * Parses JSON like `JSON.parse`, except that a top-level member named `id` becomes an exact bigint if it is an integer.
 * `1.0` and `1e3` are integers (JSON Schema 2020-12 §6.1.1). A number that is not an integer, or too long for an int64,
 * stays a double, which the schema rejects.
 * @throws {SyntaxError} if the text is not JSON (RFC 8259)
 * @throws {RangeError} if it has too many values or nests them too deep (RFC 8259 §9)
 */
export const parseExactJson = (text: string): unknown => {
  const source = scan(text);
  const value = JSON.parse(text) as { id?: unknown } | null;
  // A reviver could read the number's text too, but takes 40 times as long on a body of many small values.
  if (typeof value?.id === 'number') value.id = exactInteger(source) ?? value.id;
  return value;
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
 * @returns the text of the last top-level `id`, if it is a number; otherwise an empty string
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
      if (depth > MAX_DEPTH || ++separators > MAX_SEPARATORS) throw new RangeError(TOO_COMPLEX);
    } else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (code === COMMA) {
      if (++separators > MAX_SEPARATORS) throw new RangeError(TOO_COMPLEX);
      if (depth === 1) name = '';
    } else if (depth === 1 && code === COLON) {
      if (isId(name)) source = numberAt(text, index + 1) ?? source;
      // Invalid JSON may have many colons after a long name, and isId takes time.
      name = '';
    }
  }
  return source;
};

/** The index of the quote that ends the string at `start`; the length of the text if there is none. */
export const endOfString = (text: string, start: number): number => {
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

/** The exact value of a JSON number; undefined if it is not an integer or has more than 19 digits. */
const exactInteger = (source: string): bigint | undefined => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = whole + fraction;
  // Loops, because a pattern such as /0+$/ takes quadratic time on a number with a million zeros.
  let start = 0;
  while (start < digits.length && digits[start] === '0') start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - start + zeros > INT64_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
};
