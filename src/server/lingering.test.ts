import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createLingering } from './lingering.ts';

const TOTAL = 50;

/** A socket whose client reads nothing of what is written. */
const discard = () => {
  const lingering = createLingering({ idle: 1000, total: TOTAL });
  const stream = new Duplex({ read: () => {}, write: () => {} });
  const socket = Object.assign(stream, { setTimeout: () => {}, bytesWritten: 0 });
  lingering.discardInput(socket as unknown as Socket);
  /** More arrives, after the time is over. @returns whether the connection is still open */
  const arriveLate = async () => {
    await setTimeout(2 * TOTAL);
    socket.push('x');
    await setTimeout(5);
    return !socket.destroyed;
  };
  return { socket, arriveLate, complete: () => lingering.add(socket as unknown as Socket) };
};

test('what a client sends does not cut off a response that it reads', async () => {
  const { socket, arriveLate, complete } = discard();
  for (let times = 1; times <= 2; times++) {
    socket.bytesWritten = 1000 * times;
    expect(await arriveLate()).toBe(true);
  }
  complete();
  socket.bytesWritten = 9000;
  expect(await arriveLate()).toBe(false);
});

test('a client that sends, but reads nothing, is cut off', async () => {
  const { arriveLate } = discard();
  expect(await arriveLate()).toBe(false);
});
