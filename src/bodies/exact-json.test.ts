import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseExactJson, parseJsonText, splitElements } from './exact-json.ts';

const idOf = (number: string) => (parseExactJson(`{"id":${number}}`) as { id: unknown }).id;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** The same value with an exponent or a zero fraction: 120 as 1.2e2, 120.00, 12000e-2 … */
const rewritten = (value: bigint, shift: number, zeros: number) => {
  const sign = value < 0n ? '-' : '';
  const digits = `${value < 0n ? -value : value}`;
  if (shift === 0) return `${sign}${digits}.${'0'.repeat(zeros + 1)}`;
  if (shift < 0 && value === 0n) return `0e${shift}`;
  if (shift < 0) return `${sign}${digits}${'0'.repeat(-shift)}e${shift}`;
  const padded = digits.padStart(shift + 1, '0');
  return `${sign}${padded.slice(0, -shift)}.${padded.slice(-shift)}${'0'.repeat(zeros)}E+${shift}`;
};

describe('parseExactJson', () => {
  test('reads every int64 exactly in any notation', () => {
    fc.assert(
      fc.property(int64, fc.integer({ min: -25, max: 25 }), fc.nat(5), (value, shift, zeros) => {
        expect(idOf(`${value}`)).toBe(value);
        expect(idOf(rewritten(value, shift, zeros))).toBe(value);
      }),
    );
  });

  test('keeps the text of a number with a fraction', () => {
    fc.assert(
      fc.property(int64, fc.integer({ min: 1, max: 999 }), (value, thousandths) => {
        const text = `${value}.${String(thousandths).padStart(3, '0')}`;
        expect(idOf(text)).toEqual({ rawJSON: text });
      }),
    );
  });

  test.each(['1e400', '1e-400', '1e99999999999999999999', '1e-99999999999999999999', '12345678901234567890'])(
    '%s does not become a bigint',
    (number) => expect(idOf(number)).toEqual({ rawJSON: number }),
  );

  test.each(['0', '-0', '0.0', '0e999999999999', '-0.000e-5'])('%s is 0', (number) => expect(idOf(number)).toBe(0n));

  test('handles a number with a million digits quickly', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(idOf(`1${zeros}e-1000000`)).toBe(1n);
    expect(idOf(`0.${zeros}7e1000001`)).toBe(7n);
    for (const number of [`0.${zeros}7`, `1${zeros}1`]) expect(idOf(number)).toEqual({ rawJSON: number });
  });

  test.each([
    ['commas', (count: number) => `{"id":1,"x":[${'0'.padEnd(2 * (count - 3) + 1, ',0')}]}`],
    ['braces', (count: number) => `{"id":1,"x":[{}${',{}'.repeat((count - 4) / 2)}]}`],
    ['of an array', (count: number) => `[{}${',{}'.repeat((count - 2) / 2)}]`],
    ['not JSON', (count: number) => '{},'.repeat(count / 2)],
  ])('counts commas and opening brackets before it parses: %s', (_name, textWith) => {
    const isTooComplex = (text: string) => {
      try {
        parseExactJson(text);
      } catch (error) {
        return error instanceof RangeError;
      }
      return false;
    };
    expect(textWith(20_000).match(/[,{[]/g)).toHaveLength(20_000);
    expect([isTooComplex(textWith(20_000)), isTooComplex(textWith(20_002))]).toEqual([false, true]);
  });

  test.each(['{"id":1,"name":"a","id":2}', '{ "id": 1,"name": "a", "id": 2 }'])(
    'takes the last of several ids, as JSON.parse does: %s',
    (text) => expect(parseExactJson(text)).toEqual({ id: 2n, name: 'a' }),
  );

  test('otherwise equals JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseExactJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('reads the same id as JSON.parse, regardless of the surrounding members; and splits an array of them', () => {
    const name = fc.constantFrom(
      '"id"',
      '"\\u0069d"',
      '"i\\u0064"',
      '"x"',
      '"id\\""',
      '"\\"id"',
      '"Id"',
      '"__proto__"',
    );
    const number = fc.integer({ min: -5, max: 5 }).map(String);
    const value = fc.oneof(
      number,
      number,
      fc.json(),
      fc.constantFrom('"id"', '"id:1"', '{"id":7}', '[{"id":8},"]"]', '"\\\\"'),
    );
    const space = fc.constantFrom('', '', '', '', ' ', '\n\t');
    const member = fc
      .tuple(space, name, space, space, value, space)
      .map(([a, n, b, c, v, d]) => `${a}${n}${b}:${c}${v}${d}`);
    fc.assert(
      fc.property(fc.array(fc.array(member, { maxLength: 6 })), fc.array(value), (objects, others) => {
        const texts = objects.map((members) => `{${members.join(',')}}`);
        const values: unknown[] = texts.map((text) => parseExactJson(text));
        // As elements of an array.
        const elements = [...others, '0', ...texts];
        expect([...splitElements(elements.join(','))]).toEqual(elements);
        for (const [index, text] of texts.entries()) {
          const expected = JSON.parse(text);
          const actual = values[index] as { id?: unknown };
          if (Number.isSafeInteger(expected.id)) expect(actual.id).toBe(BigInt(expected.id));
          if (typeof expected.id === 'number') actual.id = expected.id;
          expect(actual).toEqual(expected);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('has no half of a character in its message', () => {
    const message = expect.objectContaining({ message: expect.stringContaining('\uFFFD') });
    expect(() => parseJsonText('{"id": 😀}', 'The body')).toThrow(message);
  });

  test.each(['', '{', '{"id":01}', '{"id":+1}', '{"id":1.}', '{"id":.5}', '{"id":0x10}', "{'id':1}", '{"id":1,}'])(
    '%j is not JSON',
    (text) => expect(() => parseExactJson(text)).toThrow(SyntaxError),
  );
});
