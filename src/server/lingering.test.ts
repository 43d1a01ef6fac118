import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createLingering } from './lingering.ts';

const createSocket = () =>
  Object.assign(new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done() }), {
    setTimeout: () => {},
  }) as unknown as Socket;

test('the time to discard what arrives begins when the response is complete', async () => {
  const lingering = createLingering({ idle: 1000, total: 50 });
  const socket = createSocket();
  const arrive = async () => {
    socket.push('x');
    await setTimeout(20);
  };
  lingering.discardInput(socket);
  await setTimeout(100);
  await arrive();
  expect(socket.destroyed).toBe(false);
  lingering.add(socket);
  await arrive();
  expect(socket.destroyed).toBe(false);
  await setTimeout(100);
  await arrive();
  expect(socket.destroyed).toBe(true);
});
