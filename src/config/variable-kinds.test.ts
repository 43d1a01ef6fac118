import { expect, test } from '@jest/globals';
import { parseDuration } from './variable-kinds.ts';

test.each([
  ['0', 0],
  ['30', 30_000],
  ['500ms', 500],
  ['1s', 1000],
  ['45m', 2_700_000],
  ['12h', 43_200_000],
  ['30d', 2_592_000_000],
  ['2w', 1_209_600_000],
])('%s is %d ms', (text, duration) => expect(parseDuration(text)).toBe(duration));

test.each(['', 'd', '-1d', '1.5d', '30 d', '30D', '1y', '1M', '1 s', '30d ', '5m30s', '99999999999'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);
