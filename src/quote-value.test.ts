import { describe, expect, test } from '@jest/globals';
import { quoteValue } from './quote-value.ts';

const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => object };

describe('quoteValue', () => {
  test.each([
    ['12a', '"12a"'],
    ['', '""'],
    ['a"b\\', '"a\\"b\\\\"'],
    ['a\r\n\0\x1b[31m\x7f\x9b\u2028\u202e', '"a\\r\\n\\u0000\\u001b[31m\\u007f\\u009b\\u2028\\u202e"'],
    ['x'.repeat(60), `"${'x'.repeat(60)}"`],
    ['x'.repeat(1_000_000), `"${'x'.repeat(60)}"… (1,000,000 characters)`],
    [`${'x'.repeat(59)}🌲`, `"${'x'.repeat(59)}\\ud83c"… (61 characters)`],
    ['\0'.repeat(60), `"${'\\u0000'.repeat(18)}"… (60 characters)`],
    ['\u2066', '"\\u2066"'],
    [1.5, '1.5'],
    [2 ** 64, 'about 1.84e+19'],
    [Number.POSITIVE_INFINITY, 'a number of more than 308 digits'],
    [9223372036854775808n, '9223372036854775808'],
    [rawJson('1.00000000000000000001'), '1.00000000000000000001'],
    [rawJson('1'.repeat(1000)), `${'1'.repeat(60)}… (1,000 characters)`],
    [null, 'null'],
    [true, 'true'],
    [['a', 'b'], 'an array of 2 values'],
    [{ token: 'secret' }, 'an object'],
  ])('%j', (value, expected) => {
    expect(quoteValue(value)).toBe(expected);
  });
});
