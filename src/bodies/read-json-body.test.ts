import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createTurns } from './read-json-body.ts';

test('bodies are parsed one at a time, in order, with a turn of the event loop after each', async () => {
  const inTurn = createTurns();
  const log: string[] = [];
  const parse = (name: string) =>
    inTurn(async () => {
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
