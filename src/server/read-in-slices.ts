import type { Socket } from 'node:net';

/** The size of a slice, in bytes: about twenty usual requests, or 226 of the shortest. */
const SLICE = 4096;

/**
 * Makes Node.js parse incoming data in slices, and pauses while the connection `isHeld`. By default, Node.js parses
 * each read of up to 64 KiB as a whole. That can be 3,640 requests, and 400 such connections crashed the process. Wraps
 * Node's own `data` listener. Also pauses again after Node.js resumes the socket, as it does after each request.
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
