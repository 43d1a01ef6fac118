import type { Socket } from 'node:net';
import { nextTick } from 'node:process';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { readInSlices } from './read-in-slices.ts';

/** A socket whose listener, in place of that of Node.js, collects the text that it gets in each turn of the event loop. */
const start = (isHeld: () => boolean = () => false, onSlice: (socket: Duplex) => void = () => {}) => {
  const socket = new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done(), allowHalfOpen: true });
  const slices: string[] = [];
  socket.on('data', (bytes: Buffer) => {
    slices.push(String(bytes));
    onSlice(socket);
  });
  readInSlices(socket as Socket, isHeld);
  return { socket, slices };
};

const text = Array.from({ length: 16 }, (_, index) => String.fromCharCode(97 + index).repeat(4096));

/** Moves the clock by `milliseconds` per slice. @returns how many slices were read by the end of each turn of the event loop */
const slicesPerTurn = async (milliseconds: number) => {
  let time = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => time);
  const { socket, slices } = start(undefined, () => (time += milliseconds));
  socket.push(text.join(''));
  const turns: number[] = [];
  while (slices.length < 16) {
    await setImmediate();
    turns.push(slices.length);
  }
  clock.mockRestore();
  expect(slices).toEqual(text);
  expect(socket.isPaused()).toBe(false);
  return turns;
};

test('other events get a turn after each slice that takes long', async () => {
  expect((await slicesPerTurn(0.5)).filter((count) => count > 0)).toEqual(text.map((_, index) => index + 1));
});

test('slices that take no time are read in one turn', async () => {
  expect((await slicesPerTurn(0)).filter((count) => count > 0)).toEqual([16]);
});

test('what fits in one slice is read at once, without a pause', async () => {
  const { socket, slices } = start();
  let pauses = 0;
  socket.on('pause', () => pauses++);
  for (const slice of text) socket.push(slice);
  await setImmediate();
  expect([slices, pauses]).toEqual([text, 0]);
});

test('nothing is read while the connection is held, or resumed by others before its turn', async () => {
  let isHeld = false;
  const { socket, slices } = start(
    () => isHeld,
    () => {
      isHeld = slices.length === 3;
      socket.resume();
    },
  );
  socket.push(text.join(''));
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect([slices.length, socket.isPaused()]).toEqual([3, true]);
  isHeld = false;
  socket.resume();
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(slices).toEqual(text);
});

test('a socket that was paused while a slice was parsed stays paused until that is over', async () => {
  const { socket, slices } = start(undefined, (socket) => slices.length === 2 && socket.pause());
  socket.push(text.join(''));
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect([slices.length, socket.isPaused()]).toEqual([2, true]);
  socket.resume();
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(slices).toEqual(text);
});

test.each(['during', 'after'])('a socket whose listeners are replaced %s a slice gives them the rest', async (time) => {
  let rest = '';
  const replace = (socket: Duplex) => {
    socket.removeAllListeners('resume').removeAllListeners('data');
    socket.on('data', (bytes: Buffer) => (rest += bytes)).end();
    socket.resume();
  };
  const { socket, slices } = start(undefined, (socket) => {
    if (slices.length === 2 && time === 'during') replace(socket);
    if (slices.length === 2 && time === 'after') nextTick(replace, socket);
  });
  socket.push(text.join(''));
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(slices).toHaveLength(2);
  expect(rest).toBe(text.slice(2).join(''));
});

test('the end comes behind the last slice, and a destroyed socket reads no more', async () => {
  const { socket, slices } = start();
  let slicesAtEnd = 0;
  socket.on('end', () => {
    slicesAtEnd = slices.length;
  });
  socket.push(text.join(''));
  socket.push(null);
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(slicesAtEnd).toBe(16);
  const other = start(undefined, (socket) => other.slices.length === 2 && socket.destroy());
  other.socket.push(text.join(''));
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(other.slices).toHaveLength(2);
});
