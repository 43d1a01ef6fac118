import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createBodySlots } from './body-slots.ts';

afterEach(() => {
  jest.useRealTimers();
});

test('a body that waits takes the slot of one slow body, the oldest, after two seconds', () => {
  jest.useFakeTimers();
  const { take } = createBodySlots({ count: 2 });
  const log: string[] = [];
  const start = (name: string) => {
    const release = take({
      onGranted: () => log.push(`${name} granted`),
      onLost: () => {
        log.push(`${name} lost`);
        release();
      },
    });
  };
  start('first');
  start('second');
  start('third');
  jest.advanceTimersByTime(1900);
  expect(log).toEqual(['first granted', 'second granted']);
  jest.advanceTimersByTime(60_000);
  expect(log).toEqual(['first granted', 'second granted', 'first lost', 'third granted']);
  start('fourth');
  jest.advanceTimersByTime(60_000);
  expect(log.slice(4)).toEqual(['second lost', 'fourth granted']);
});

test('bodies are parsed one at a time, in order, with a turn of the event loop after each', async () => {
  const { parseInTurn } = createBodySlots({ count: 1 });
  const log: string[] = [];
  const parse = (name: string) =>
    parseInTurn(async () => {
      log.push(name);
      if (name === 'wrong') throw new Error('not JSON');
      return name;
    });
  const all = Promise.allSettled([parse('a'), parse('wrong'), parse('b')]);
  for (const number of [1, 2]) {
    await setImmediate();
    log.push(`turn ${number}`);
  }
  const outcomes = await all;
  expect(log).toEqual(['a', 'turn 1', 'wrong', 'turn 2', 'b']);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
