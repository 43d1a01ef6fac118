import { Readable } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Request } from 'express';
import { createHttpServer } from '../server/http-server.ts';
import { streamBody } from './stream-body.ts';

const start = (options: { isCompressed?: boolean } = {}) => {
  const request = Object.assign(new Readable({ read: () => {} }), { socket: { resume: () => {} } });
  const stopping = new AbortController();
  const body = streamBody(request as unknown as Request, { signal: stopping.signal, ...options });
  return { request, stopping, body };
};

test('a body fails at once if the signal is aborted while its last piece is used', async () => {
  const { request, stopping, body } = start();
  request.push('piece');
  expect(String((await body.next()).value)).toBe('piece');
  stopping.abort(new Error('Stopping'));
  await expect(body.next()).rejects.toThrow('Stopping');
}, 5000);

test('a body fails at once if its client left before it is read', async () => {
  const signal = AbortSignal.abort(new Error('gone'));
  const request = Object.assign(new Readable({ read: () => {} }), { socket: { resume: () => {} } });
  await expect(streamBody(request as unknown as Request, { signal }).next()).rejects.toThrow('gone');
}, 5000);

test.each([
  ['large', 65_536],
  ['small', 10],
])('%s pieces of at most 8 MiB are read ahead, with what they take beside their bytes', async (_title, size) => {
  const { request, body } = start();
  const sizes = () => 8_388_608 / (size + 256);
  let pushed = 0;
  while (!request.isPaused() && pushed < 100_000) {
    // Rows, since many small pieces without are refused.
    request.push(`${'x'.repeat(size - 1)}\n`);
    pushed += 1;
    await setImmediate();
  }
  expect(pushed).toBe(Math.floor(sizes()) + 1);
  await body.next();
  expect(request.isPaused()).toBe(false);
});

test('the rest of a body that nobody reads any more is not kept, so the request is never paused', async () => {
  const { request, body } = start();
  request.push('piece');
  await body.next();
  await body.return?.();
  request.resume();
  for (let pushed = 0; pushed < 200; pushed++) {
    request.push(Buffer.alloc(65_536, '\n'));
    await setImmediate();
  }
  expect(request.isPaused()).toBe(false);
});

/** Pushes pieces, and reads what is handed on after each thousand of them, until the body fails. @returns how many were accepted */
const accepted = async (pieces: Iterable<string>, options?: { isCompressed?: boolean }) => {
  const { request, body } = start(options);
  let pushed = 0;
  try {
    for (const piece of pieces) {
      request.push(piece);
      pushed += 1;
      if (pushed % 1000 > 0) continue;
      await setImmediate();
      await body.next();
    }
    request.push(null);
    await Array.fromAsync(body);
    return Number.POSITIVE_INFINITY;
  } catch (error) {
    expect(error).toMatchObject({ code: 1002 });
    return pushed;
  }
};

test('all that has arrived is handed on at once, up to 64 KiB', async () => {
  const { request, body } = start();
  for (let row = 0; row < 10_000; row++) request.push('1234567,x\n');
  request.push(null);
  const sizes = (await Array.fromAsync(body)).map(({ length }) => length);
  expect(sizes).toEqual([65_530, 34_470]);
});

test('pieces are handed on in order and unchanged, however they are merged', async () => {
  const { request, body } = start();
  const pieces = Array.from({ length: 300 }, (_, index) => `${index},${'x'.repeat((index * 997) % 5000)}\n`);
  const reading = Array.fromAsync(body);
  for (const [index, piece] of pieces.entries()) {
    request.push(piece);
    if (index % 7 === 0) await setImmediate();
  }
  request.push(null);
  expect(String(Buffer.concat(await reading))).toBe(pieces.join(''));
});

test('a large piece is handed on as it is', async () => {
  const { request, body } = start();
  const piece = Buffer.alloc(100_000);
  request.push(piece);
  expect((await body.next()).value).toBe(piece);
});

const uncompressed = { isCompressed: false };

const repeated = function* (count: number, ...pieces: string[]) {
  for (let index = 0; index < count; index++) yield* pieces;
};

test.each<[string, string[]]>([
  ['rows one by one', ['1,a\n']],
  ['rows, then their line ends', ['1,a', '\n']],
  ['rows, then their CRLF', ['1,a', '\r\n']],
  ['rows that end with CR', ['1,', '\r']],
  ['rows, then their line ends in utf-16le', ['1\0,\0a\0', '\n\0']],
  ['rows of NDJSON, then their line ends', ['{"id":1,"name":""}', '\n']],
  ['large pieces with line ends between', ['x'.repeat(64), '\n']],
  ['pieces of 64 bytes without a line end', ['x'.repeat(64)]],
])('a body may come in any number of pieces: %s', async (_title, pieces) => {
  expect(await accepted(repeated(20_000, ...pieces))).toBe(Number.POSITIVE_INFINITY);
});

test.each<[string, string[], { isCompressed: boolean }]>([
  ['single bytes', ['x'], uncompressed],
  ['blank lines', ['\n'], uncompressed],
  ['blank lines with CRLF', ['\r', '\n'], uncompressed],
  ['blank lines of spaces', [' \t  ', '\n'], uncompressed],
  ['rows in single bytes', [...'{"id":1,"name":"Fir"}\n'], uncompressed],
  ['short rows in single bytes', [...'1,a\n'], uncompressed],
  ['quotes', ['"'], uncompressed],
  ['pieces of 20 bytes without a line end', ['x'.repeat(20)], uncompressed],
  ['compressed, with the bytes of line ends', ['1,a\n'], { isCompressed: true }],
])('a body in too many pieces is refused within the first few thousand: %s', async (_title, pieces, options) => {
  const count = await accepted(repeated(20_000, ...pieces), options);
  expect(count).toBeGreaterThan(1000);
  expect(count).toBeLessThan(5000);
});

test('a pending read ends when the body is no longer wanted', async () => {
  const { body } = start();
  const pending = body.next();
  await body.return?.();
  expect(await pending).toEqual({ done: true, value: undefined });
});

test('a body that came faster than it was read arrives whole once it is read', async () => {
  const server = createHttpServer({
    requestTimeout: 60_000,
    handler: async (request, response) => {
      const body = streamBody(request as Request, { signal: new AbortController().signal });
      while (!request.isPaused()) await setImmediate();
      // Until its socket is paused, too.
      await setTimeout(500);
      let size = 0;
      for await (const piece of body) size += piece.length;
      response.setHeader('Connection', 'close');
      response.end(`${size}`);
    },
  });
  const port = await server.listen('127.0.0.1', 0);
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: Buffer.alloc(20_000_000, 'x') });
  expect(await response.text()).toBe('20000000');
  await server.close({ delay: 0, timeout: 1000 });
}, 20_000);
