import { expect, test } from '@jest/globals';
import { parseDuration } from './option-parsers.ts';

test.each([
  ['1s', 1000],
  ['45m', 2_700_000],
  ['12h', 43_200_000],
  ['30d', 2_592_000_000],
  ['2w', 1_209_600_000],
])('%s is %d ms', (text, duration) => expect(parseDuration(text)).toBe(duration));

test.each(['', '30', 'd', '0d', '-1d', '1.5d', '30 d', '30D', '1y', '99999w', '30d '])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);
