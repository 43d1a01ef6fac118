import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createFailedTokens } from './failed-tokens.ts';

const START = 1_000_000_000;
let now = START;
beforeEach(() => {
  now = START;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const start = () => {
  const count = createFailedTokens();
  /**
   * Sends `times` wrong tokens.
   * @returns how long the address must wait after the last one, in s; undefined if it need not
   */
  const fail = (times = 1, address = '192.0.2.1') => {
    let wait: number | undefined;
    for (let time = 0; time < times; time++) wait = count(address);
    return wait;
  };
  return fail;
};

test('setting the clock back changes nothing', () => {
  const fail = start();
  expect(fail(61)).toBe(60);
  jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
  expect(fail(1)).toBe(60);
  now = START + 60_001;
  expect(fail(60)).toBeUndefined();
  expect(fail(1)).toBe(60);
});
