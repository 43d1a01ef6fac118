/** The longest that an int64 can be: 9223372036854775807 has 19 digits. */
const INT64_DIGITS = 19;

/**
 * Parses JSON as `JSON.parse` does, except that a member named `id` that is a number of integer value becomes a
 * bigint, exact to the last digit: `1.0` and `1e3` are integers (JSON Schema 2020-12 §6.1.1). A number that is
 * not an integer, or too long for an int64, stays a double, which is how the schema tells it is wrong.
 * @throws {SyntaxError} where the text is not JSON (RFC 8259)
 * @throws {RangeError} where it is nested too deeply (RFC 8259 §9 lets a parser limit that)
 */
export const parseExactJson = (text: string): unknown => JSON.parse(text, readExactId as Reviver);

type Reviver = (key: string, value: unknown) => unknown;

/** The third argument, a number's own digits, is ECMAScript 2026 and not yet in TypeScript's library. */
const readExactId = (key: string, value: unknown, { source }: { source: string }): unknown =>
  key === 'id' && typeof value === 'number' ? (exactInteger(source) ?? value) : value;

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
