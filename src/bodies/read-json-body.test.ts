import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { createBodyReader, createTurns } from './read-json-body.ts';

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

test('a large body whose client leaves before its turn is not parsed', async () => {
  const size = 20_000;
  const headers = { 'content-type': 'application/json', 'content-length': `${size}` };
  const request = Object.assign(Readable.from([Buffer.alloc(size / 2, ' '), Buffer.alloc(size / 2, ' ')]), { headers });
  const response = Object.assign(new EventEmitter(), { destroyed: false, locals: {} });
  const turn = Promise.withResolvers<void>();
  let parsed = 0;
  let waiting = 0;
  const read = createBodyReader({
    ...{ limit: 2 * size, timeout: 60_000, hold: () => {}, mediaTypes: ['application/json'] },
    inTurn: (task) => {
      waiting += 1;
      return turn.promise.then(task);
    },
    parse: () => {
      parsed += 1;
    },
  });
  const outcome = read(request as never, response as never).catch(({ message }: Error) => message);
  while (waiting === 0) await setImmediate();
  response.destroyed = true;
  turn.resolve();
  expect([await outcome, parsed]).toEqual(['The client disconnected.', 0]);
});

test('a compressed body that waits to be parsed counts as what it may become', async () => {
  const text = ' '.repeat(100_000);
  const compressed = gzipSync(text);
  const headers = {
    ...{ 'content-type': 'application/json', 'content-encoding': 'gzip' },
    'content-length': `${compressed.length}`,
  };
  const request = Object.assign(Readable.from([compressed]), { headers });
  const response = Object.assign(new EventEmitter(), { destroyed: false, locals: {} });
  const held: number[] = [];
  const read = createBodyReader({
    ...{ limit: 1_048_576, timeout: 60_000, mediaTypes: ['application/json'], inTurn: (task) => task() },
    hold: (_response, { bytes }) => void held.push(bytes),
    parse: ({ length }) => length,
  });
  expect(await read(request as never, response as never)).toBe(text.length);
  expect(held).toEqual([1_048_576, 2 * text.length]);
});
