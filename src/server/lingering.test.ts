import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createLingering } from './lingering.ts';

const TOTAL = 50;

let now = 0;
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** A socket whose client reads nothing of what is written. */
const discard = () => {
  const lingering = createLingering({ idle: 1000, total: TOTAL });
  const stream = new Duplex({ read: () => {}, write: () => {} });
  const socket = Object.assign(stream, { setTimeout: () => {}, bytesWritten: 0 });
  lingering.discardInput(socket as unknown as Socket);
  /** More arrives after so many ms. @returns whether the connection is still open */
  const arriveAfter = async (milliseconds: number) => {
    now += milliseconds;
    socket.push('x');
    // Two pieces are read in a turn.
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    return !socket.destroyed;
  };
  return { socket, arriveAfter, complete: () => lingering.add(socket as unknown as Socket) };
};

test('what a client sends does not cut off a response that it reads', async () => {
  const { socket, arriveAfter, complete } = discard();
  for (let times = 1; times <= 2; times++) {
    socket.bytesWritten = 1000 * times;
    expect(await arriveAfter(TOTAL + 1)).toBe(true);
    // From then on it has the whole time again.
    expect(await arriveAfter(TOTAL - 1)).toBe(true);
  }
  complete();
  socket.bytesWritten = 9000;
  expect(await arriveAfter(TOTAL + 1)).toBe(false);
});

test('a client that sends, but reads nothing, is cut off', async () => {
  const { arriveAfter } = discard();
  expect(await arriveAfter(TOTAL + 1)).toBe(false);
});
