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

test('each address may send 60 wrong tokens per minute', () => {
  const fail = start();
  expect(fail(60)).toBeUndefined();
  expect(fail(60, '192.0.2.2')).toBeUndefined();
  expect(fail()).toBe(60);
  expect(fail(1, '192.0.2.2')).toBe(60);
});

test('the minute begins with the first wrong token', () => {
  const fail = start();
  expect(fail(59)).toBeUndefined();
  now = START + 59_500;
  expect(fail(1)).toBeUndefined();
  expect(fail(1)).toBe(1);
  now = START + 59_999;
  expect(fail(1)).toBe(1);
  now = START + 60_001;
  expect(fail(60)).toBeUndefined();
  expect(fail(1)).toBe(60);
});

test('setting the clock back changes nothing', () => {
  const fail = start();
  expect(fail(61)).toBe(60);
  jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
  expect(fail(1)).toBe(60);
  now = START + 60_001;
  expect(fail(60)).toBeUndefined();
  expect(fail(1)).toBe(60);
});

test('10,000 addresses are remembered', () => {
  const fail = start();
  expect(fail(61)).toBe(60);
  for (let address = 0; address < 9999; address++) fail(1, `other ${address}`);
  expect(fail(1)).toBe(60);
  for (let address = 0; address < 10_000; address++) fail(1, `more ${address}`);
  expect(fail(1)).toBeUndefined();
});
