import type { Socket } from 'node:net';

/**
 * How long to discard what a client still sends although its request is over, in ms: `idle` without a byte, `total`
 * altogether. nginx has the same times.
 */
export type LingerTimes = { idle: number; total: number };

export const LINGER_TIMES: LingerTimes = { idle: 5000, total: 30_000 };
/** While the server stops, in ms altogether. */
const STOPPING_TIME = 1000;
/**
 * How many connections may linger. Each holds up to 128 KiB that is read but not discarded yet. During a flood of rejected
 * requests, the oldest are destroyed sooner.
 */
const MAX_LINGERING = 256;

/** `endsAt`: in ms of the monotonic clock. `isOver`: the response is complete. */
type Lingering = { endsAt: number; isOver: boolean };

/**
 * Connections that are read only to discard what arrives. A client may write its whole request before it reads the
 * response. If the service stopped reading or closed the connection, the client would lose the response to a TCP reset.
 */
export const createLingering = ({ idle, total }: LingerTimes = LINGER_TIMES) => {
  const lingering = new Map<Socket, Lingering>();
  let isStopping = false;

  /** From now on, nothing that arrives is parsed. */
  const discardInput = (socket: Socket): void => {
    if (lingering.has(socket) || socket.destroyed) return;
    const entry: Lingering = { endsAt: performance.now() + total, isOver: false };
    lingering.set(socket, entry);
    // Those of readInSlices, which would pause the socket again.
    socket.removeAllListeners('resume');
    socket.removeAllListeners('data').on('data', () => {
      if (performance.now() >= entry.endsAt) {
        socket.destroy();
        return;
      }
      // At most two pieces per turn: Node.js would read 2 MiB from each connection before any other event.
      socket.pause();
      setImmediate(() => socket.resume());
    });
    // The client is gone. Node.js would report that its request is not complete.
    socket.once('end', () => socket.end());
    socket.resume();
    if (lingering.size > MAX_LINGERING) destroyOne();
  };

  /** The oldest whose response is complete, or else the oldest. */
  const destroyOne = () => {
    const entries = [...lingering];
    const [socket] = entries.find(([, { isOver }]) => isOver) ?? entries[0] ?? [];
    if (socket === undefined) return;
    lingering.delete(socket);
    socket.destroy();
  };

  /** Destroys a connection whose response is complete, unless its client closes its side in time. */
  const limitTime = (socket: Socket) => {
    const entry = lingering.get(socket);
    if (entry === undefined) return;
    entry.isOver = true;
    if (isStopping) entry.endsAt = performance.now() + STOPPING_TIME;
    socket.setTimeout(isStopping ? STOPPING_TIME : idle, () => socket.destroy());
  };

  return {
    has: (socket: Socket): boolean => lingering.has(socket),
    count: (): number => lingering.size,
    discardInput,
    remove: (socket: Socket): void => void lingering.delete(socket),
    /** Discards what arrives and, if the client does not close its side in time, destroys the connection. */
    add: (socket: Socket): void => {
      discardInput(socket);
      limitTime(socket);
    },
    /** Shortens the times, so that lingering connections do not delay the stop of the server. */
    stop: (): void => {
      isStopping = true;
      for (const [socket, { isOver }] of lingering) if (isOver) limitTime(socket);
    },
  };
};
