import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { closeWhenSilent, SilenceError } from './silence-timeout.ts';

/** A connection to PostgreSQL. */
const start = () => {
  const destroyed: Error[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bytesRead: 100,
    destroy: (error: Error) => void destroyed.push(error),
  });
  closeWhenSilent({ connection: { stream: socket } } as never);
  return { socket, destroyed };
};

test('a connection that is silent until its timeout is closed', async () => {
  const { socket, destroyed } = start();
  socket.emit('timeout');
  await setImmediate();
  expect(destroyed).toEqual([expect.any(SilenceError)]);
});

test('one whose response arrived while the process was too busy to read it stays open', async () => {
  const { socket, destroyed } = start();
  socket.emit('timeout');
  // Sockets are read after timers, and before setImmediate.
  socket.bytesRead += 1;
  await setImmediate();
  await setImmediate();
  expect(destroyed).toEqual([]);
});
