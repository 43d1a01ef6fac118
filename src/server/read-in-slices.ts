import type { Socket } from 'node:net';
import { nextTick } from 'node:process';

/** The size of a slice, in bytes: about twenty usual requests, or 226 of the shortest. */
const SLICE = 4096;
/**
 * How long to parse slices before other connections get a turn, in ms. Most slices of a body take a few microseconds, but one of
 * one-byte chunks takes nearly a millisecond.
 */
const TURN = 0.5;
/** A handler of a request throws it so that Node.js parses nothing that follows on the connection. */
export const STOP_PARSING = new Error('Nothing that follows is parsed.');

/** Passed to `clientError` as errors of the parser are, but without a code, which Node.js hides. */
const NO_HTTP = new Error('What follows a request with Upgrade is no HTTP.');

/** Node's parser of a connection. `execute` returns how many bytes it took, or why it failed. */
type Parser = { execute: (bytes: Buffer) => number | Error };

/**
 * Watches what `execute` returns, by a closure: a property of the parser cost 3 % of the throughput. Outside `readInSlices`,
 * because Node.js reuses parsers, and a closure there would keep the socket of a closed connection.
 * @returns a function that returns what it returned last
 */
const watchTaken = (parser: Parser) => {
  const { execute } = Object.getPrototypeOf(parser) as Parser;
  let taken: number | Error | undefined;
  parser.execute = (bytes) => {
    taken = execute.call(parser, bytes);
    return taken;
  };
  return () => taken;
};

/**
 * Makes Node.js parse incoming data in slices, and pauses while the connection `isHeld`. By default, Node.js parses
 * each read of up to 64 KiB as a whole. That can be 3,640 requests, and 400 such connections crashed the process; or 10,000
 * chunks of a body. Other connections get a turn after each TURN. Wraps Node's own `data` listener. Also pauses again after Node.js
 * resumes the socket, as it does after each request.
 */
export const readInSlices = (socket: Socket & { parser?: Parser }, isHeld: () => boolean): void => {
  const [onBytes] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (onBytes === undefined) return;
  const { parser } = socket;
  const lastTaken = parser && watchTaken(parser);
  const parse = (bytes: Buffer): void => {
    try {
      onBytes(bytes);
    } catch (error) {
      if (error === STOP_PARSING) return;
      throw error;
    }
    // After a request with Upgrade, Node.js drops the rest of a read, and hides that what follows is no HTTP: then the parser has
    // taken nothing, or any number, also a negative one. After CONNECT, and once the connection is closed, it has no parser.
    const taken = lastTaken?.();
    if (socket.parser !== parser || typeof taken !== 'number') return;
    if (taken <= 0 || taken > bytes.length) socket.emit('error', NO_HTTP);
    else if (taken < bytes.length) parse(bytes.subarray(taken));
  };
  /** Whether the next slice waits, and whether the socket is to be resumed for it. */
  let isResting = false;
  let mustResume = false;
  let turnEndsAt: number | undefined;
  const rest = (bytes: Buffer) => {
    isResting = true;
    // What paused the socket while it was parsed resumes it, too.
    mustResume = !socket.isPaused();
    socket.pause();
    socket.unshift(bytes);
    if (turnEndsAt !== undefined && performance.now() < turnEndsAt) return nextTick(onRested);
    turnEndsAt = undefined;
    setImmediate(onRested);
  };
  const onRested = () => {
    isResting = false;
    if (mustResume && !isHeld()) socket.resume();
  };
  const onData = (bytes: Buffer) => {
    if (bytes.length <= SLICE) {
      turnEndsAt = undefined;
      parse(bytes);
      if (isHeld()) socket.pause();
    } else {
      turnEndsAt ??= performance.now() + TURN;
      parse(bytes.subarray(0, SLICE));
      if (!socket.destroyed) rest(bytes.subarray(SLICE));
    }
  };
  const onResume = () => {
    mustResume = true;
    if (isResting || isHeld()) socket.pause();
  };
  socket.off('data', onBytes).on('data', onData);
  socket.on('resume', onResume);
};
