import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { ApiError } from '../http/api-error.ts';
import { createFailedTokens } from './failed-tokens.ts';

const START = 1_000_000_000;
let now = START;
beforeEach(() => {
  now = START;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const start = () => {
  const { count } = createFailedTokens();
  /** @returns what the last of so many wrong tokens is told to wait, in s; undefined: it may go on */
  const fail = (times = 1, address = '192.0.2.1') => {
    let wait: string | undefined;
    for (let time = 0; time < times; time++) {
      try {
        count(address, { 'WWW-Authenticate': 'Bearer' });
        wait = undefined;
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError);
        const { code, headers } = error as ApiError;
        expect([code, headers['WWW-Authenticate']]).toEqual([1400, 'Bearer']);
        wait = headers['Retry-After'];
      }
    }
    return wait;
  };
  return fail;
};

test('60 wrong tokens may come in a minute, of each address', () => {
  const fail = start();
  expect(fail(60)).toBeUndefined();
  expect(fail(60, '192.0.2.2')).toBeUndefined();
  expect(fail()).toBe('60');
  expect(fail(1, '192.0.2.2')).toBe('60');
});

test('the minute begins with the first one, however many follow', () => {
  const fail = start();
  expect(fail(59)).toBeUndefined();
  now = START + 59_500;
  expect(fail(1)).toBeUndefined();
  expect(fail(1)).toBe('1');
  now = START + 59_999;
  expect(fail(1)).toBe('1');
  now = START + 60_000;
  expect(fail(60)).toBeUndefined();
  expect(fail(1)).toBe('60');
});

test('a clock that is set back makes nobody wait for longer than a minute', () => {
  const fail = start();
  expect(fail(61)).toBe('60');
  now = START - 3_600_000;
  expect(fail(60)).toBeUndefined();
  expect(fail(1)).toBe('60');
});

test('10,000 addresses are remembered', () => {
  const fail = start();
  expect(fail(61)).toBe('60');
  for (let address = 0; address < 9999; address++) fail(1, `other ${address}`);
  expect(fail(1)).toBe('60');
  for (let address = 0; address < 10_000; address++) fail(1, `more ${address}`);
  expect(fail(1)).toBeUndefined();
});
