import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import type { Response } from 'express';
import { createByteBudget } from './byte-budget.ts';

const LIMIT = 100;

/** A budget, and requests that hold bytes of it, by name. */
const start = () => {
  const { hold, inUse, counts } = createByteBudget({ limit: LIMIT });
  const dropped: string[] = [];
  const responses = new Map<string, EventEmitter & { destroyed: boolean }>();
  return {
    inUse,
    counts,
    dropped,
    hold: (name: string, bytes: number, locals: { tokenName?: string; client?: string } = {}) => {
      const response = responses.get(name) ?? Object.assign(new EventEmitter(), { destroyed: false, locals });
      responses.set(name, response);
      hold(response as unknown as Response, { kind: 'bodies', bytes, drop: () => dropped.push(name) });
    },
    close: (name: string) =>
      Object.assign(responses.get(name) ?? {}, { destroyed: true }) && responses.get(name)?.emit('close'),
  };
};

const [a, b] = [
  { tokenName: 'a', client: '192.0.2.1' },
  { tokenName: 'b', client: '192.0.2.1' },
];

test('drops the oldest of the token that holds most, not the oldest of all', () => {
  const { hold, dropped, inUse, counts } = start();
  hold('slow', 20, a);
  hold('first', 30, b);
  hold('second', 30, b);
  expect(dropped).toEqual([]);
  hold('third', 30, b);
  expect(dropped).toEqual(['first']);
  hold('slow', 45, a);
  expect(dropped).toEqual(['first', 'second']);
  expect([inUse(), counts()]).toEqual([
    { bodyBytes: 75, responseBytes: 0 },
    { bodies: 2, responses: 0 },
  ]);
});

test('drops as many as it takes, also the one that holds more now', () => {
  const { hold, dropped } = start();
  for (let count = 0; count < 10; count++) hold(`small ${count}`, 10, a);
  hold('other', 1, b);
  hold('small 9', 60, a);
  expect(dropped).toEqual(Array.from({ length: 6 }, (_, count) => `small ${count}`));
  hold('other', LIMIT, b);
  expect(dropped.at(-1)).toBe('other');
});

test('a request that holds more than before is as old as it was', () => {
  const { hold, dropped } = start();
  for (const name of ['growing', 'small']) hold(name, 10, a);
  hold('growing', 50, a);
  hold('new', 50, a);
  expect(dropped).toEqual(['growing']);
});

test('dropped requests without a token by their address', () => {
  const { hold, dropped } = start();
  hold('slow', 40, { client: '192.0.2.1' });
  hold('fast', 50, { client: '192.0.2.2' });
  hold('with a token', 20, a);
  expect(dropped).toEqual(['fast']);
});

test('one alone may hold more than the limit, also once others have left', () => {
  const { hold, close, dropped } = start();
  hold('earlier', 1, b);
  close('earlier');
  hold('large', 2 * LIMIT, a);
  expect(dropped).toEqual([]);
  hold('next', 1, b);
  expect(dropped).toEqual(['large']);
});

test('what is sent, or whose client has disconnected, does not count', () => {
  const { hold, close, dropped, inUse } = start();
  hold('sent', 60, a);
  hold('sent', 50, a);
  close('sent');
  hold('sent', 60, a);
  expect(inUse()).toEqual({ bodyBytes: 0, responseBytes: 0 });
  hold('next', 60, a);
  expect(dropped).toEqual([]);
});
