import type { Socket } from 'node:net';

/** Bytes that are parsed at once: room for some twenty requests as clients send them, and for 226 of the shortest. */
const SLICE = 4096;

/**
 * Lets Node.js parse what a client sends in slices, and none while the connection `isHeld`. On its own it parses a read of
 * 64 KiB at once, which can hold 3,640 requests: 400 connections that each sent as much ended the process.
 * Node.js listens to `data` as any user of a socket does; its listener is called with slices instead of reads. It also
 * resumes the socket behind each request.
 */
export const readInSlices = (socket: Socket, isHeld: () => boolean): void => {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (parse === undefined) return;
  const onData = (bytes: Buffer) => {
    parse(bytes.length > SLICE ? bytes.subarray(0, SLICE) : bytes);
    if (isHeld()) socket.pause();
    if (bytes.length > SLICE && !socket.destroyed) socket.unshift(bytes.subarray(SLICE));
  };
  socket.off('data', parse).on('data', onData);
  socket.on('resume', () => isHeld() && socket.pause());
};
