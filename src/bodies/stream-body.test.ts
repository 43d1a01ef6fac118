import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Request } from 'express';
import { streamBody } from './stream-body.ts';

const start = () => {
  const request = Object.assign(new Readable({ read: () => {} }), { socket: { resume: () => {} } });
  const stopping = new AbortController();
  const body = streamBody(request as unknown as Request, { pauseTimeout: 60_000, signal: stopping.signal });
  return { request, stopping, body };
};

test('a body fails at once if the signal is aborted while its last piece is used', async () => {
  const { request, stopping, body } = start();
  request.push('piece');
  expect(String((await body.next()).value)).toBe('piece');
  stopping.abort(new Error('Stopping'));
  await expect(body.next()).rejects.toThrow('Stopping');
}, 5000);

test.each([
  ['large', 65_536],
  ['small', 10],
])('%s pieces of at most 8 MiB are read ahead, with what they take beside their bytes', async (_title, size) => {
  const { request, body } = start();
  const sizes = () => 8_388_608 / (size + 256);
  let pushed = 0;
  while (!request.isPaused() && pushed < 100_000) {
    request.push(Buffer.alloc(size));
    pushed += 1;
    await setImmediate();
  }
  expect(pushed).toBe(Math.floor(sizes()) + 1);
  await body.next();
  expect(request.isPaused()).toBe(false);
});
