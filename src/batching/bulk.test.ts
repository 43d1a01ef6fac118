import { expect, test } from '@jest/globals';
import { createSlots } from './bulk.ts';

test('a holder gets at most half of the slots', () => {
  const { take } = createSlots(4, 'imports');
  const release = take('a');
  take('a');
  expect(() => take('a')).toThrow('Too many imports of this token are in progress.');
  take('b');
  take('c');
  expect(() => take('d')).toThrow('Too many imports are in progress.');
  release();
  take('d');
  expect(() => take('d')).toThrow(expect.objectContaining({ kind: 'overloaded' }));
});

test('anybody gets the only slot', () => {
  const { take } = createSlots(1, 'exports');
  take('a')();
  take('b');
  expect(() => take('a')).toThrow('Too many exports are in progress.');
});

test('each slot that a holder releases gives it one more, and counts down to nothing', () => {
  const { take, taken } = createSlots(4, 'imports');
  const releases = [take('a'), take('a')];
  releases[0]?.();
  releases.push(take('a'));
  expect(() => take('a')).toThrow('Too many imports of this token are in progress.');
  expect(taken()).toBe(2);
  for (const release of releases.slice(1)) release();
  expect(taken()).toBe(0);
});
