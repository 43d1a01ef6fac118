import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { z } from 'zod';
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

/** A request with a JSON body, and its response. */
const send = (body: Buffer, headers: Record<string, string> = {}) => {
  const all = { 'content-type': 'application/json', 'content-length': `${body.length}`, ...headers };
  const request = Object.assign(Readable.from([body]), { headers: all });
  const response = Object.assign(new EventEmitter(), { destroyed: false, locals: {} });
  return { request: request as unknown as Request, response: response as unknown as Response };
};
const LIMITS = { limit: 1_048_576, timeout: 60_000, hold: () => {} };

test('a large body whose client leaves before its turn is not parsed', async () => {
  const text = Buffer.from(JSON.stringify('x'.repeat(20_000)));
  const [first, second] = [send(text), send(text)];
  const read = createBodyReader(LIMITS);
  const leave = () => Object.assign(second.response, { destroyed: true });
  let parsed = 0;
  const outcomes = await Promise.allSettled([
    read(first.request, first.response, z.string().transform(leave)),
    read(
      second.request,
      second.response,
      z.string().transform(() => {
        parsed += 1;
      }),
    ),
  ]);
  expect(outcomes).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { message: 'The client disconnected.' } },
  ]);
  expect(parsed).toBe(0);
});

test('a compressed body that waits to be parsed counts as what it may become', async () => {
  const value = 'x'.repeat(100_000);
  const { request, response } = send(gzipSync(JSON.stringify(value)), { 'content-encoding': 'gzip' });
  const held: number[] = [];
  const read = createBodyReader({ ...LIMITS, hold: (_response, { bytes }) => void held.push(bytes) });
  expect(await read(request, response, z.string())).toBe(value);
  expect(held).toEqual([1_048_576, 2 * (value.length + 2)]);
});

test('a body whose rest arrived while the process was busy is in time', async () => {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n"fi');
  const [request, response] = (await once(server, 'request')) as [Request, Response];
  const timeout = 50;
  const reading = createBodyReader({ ...LIMITS, timeout })(
    request,
    Object.assign(response, { locals: {} }),
    z.string(),
  );
  // Read its first part, so that only the rest comes after the pause.
  await once(request, 'data');
  socket.write('rst"');
  const end = performance.now() + 2 * timeout;
  while (performance.now() < end);
  expect(await reading).toBe('first');
});
