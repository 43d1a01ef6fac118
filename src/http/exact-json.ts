/** The longest that an int64 can be: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Parses JSON as `JSON.parse` does, except that the number of a top-level member named `id` becomes a bigint, exact to
 * the last digit, where its value is an integer: `1.0` and `1e3` are (JSON Schema 2020-12 §6.1.1). A number that is
 * not an integer, or too long for an int64, stays a double, which is how the schema tells that it is wrong.
 * @throws {SyntaxError} where the text is not JSON (RFC 8259)
 */
export const parseExactJson = (text: string): unknown => {
  const value = JSON.parse(text) as { id?: unknown } | null;
  // A reviver would give the number's text too, but takes 40 times as long on a body of many small values.
  if (typeof value?.id === 'number') value.id = exactInteger(sourceOfId(text)) ?? value.id;
  return value;
};

const [QUOTE, BACKSLASH, COLON, COMMA] = ['"', '\\', ':', ','].map((character) => character.charCodeAt(0));
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = ['{', '}', '[', ']'].map((character) => character.charCodeAt(0));

/** The digits of the last member named `id` of an object, in a text that is JSON and in which it is a number. */
const sourceOfId = (text: string): string => {
  let source = '';
  let depth = 0;
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (depth === 1) name = text.slice(index, end + 1);
      index = end;
    } else if (code === BRACE || code === BRACKET) depth++;
    else if (code === BRACE_END || code === BRACKET_END) depth--;
    else if (depth === 1 && code === COMMA) name = '';
    else if (depth === 1 && code === COLON && isId(name)) source = numberAt(text, index + 1) ?? source;
  }
  return source;
};

const endOfString = (text: string, start: number): number => {
  let index = start + 1;
  while (text.charCodeAt(index) !== QUOTE) index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  return index;
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
