import { afterEach, expect, jest, test } from '@jest/globals';
import { createDurabilityWatch } from './inspect-database.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Takes one check after another. @returns the weaknesses that are warned of */
const watch = () => {
  let now = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const warned: string[] = [];
  const see = createDurabilityWatch((message) => warned.push(/crash: (.*?)\./.exec(message)?.[1] ?? message));
  return {
    warned,
    see: (weaknesses: string, seconds = 1) => {
      now += seconds * 1000;
      see(weaknesses);
    },
  };
};

test('warns at the first check, at a change, and then once an hour', () => {
  const { warned, see } = watch();
  for (let second = 0; second < 60; second++) see('');
  for (let second = 0; second < 2 * 3600; second++) see('fsync = off');
  expect(warned).toEqual(['fsync = off', 'fsync = off']);
  see('fsync = off, synchronous_commit = off');
  see('fsync = off, synchronous_commit = off');
  see('');
  see('fsync = off');
  expect(warned.slice(2)).toEqual(['fsync = off, synchronous_commit = off', 'fsync = off']);
});

test('sessions that alternate do not fill the log', () => {
  const { warned, see } = watch();
  for (let second = 0; second < 7200; second++) see(second % 2 ? '' : 'synchronous_commit = off');
  expect(warned.length).toBeLessThanOrEqual(21);
});
