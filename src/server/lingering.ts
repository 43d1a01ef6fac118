import type { Socket } from 'node:net';

/**
 * How long to discard what a client still sends although its request is over, in ms: `idle` without a byte, `total` altogether
 * after the response, or while the client reads nothing of it. nginx has the same times.
 */
export type LingerTimes = { idle: number; total: number };

export const LINGER_TIMES: LingerTimes = { idle: 5000, total: 30_000 };
/** While the server stops, in ms altogether. */
const STOPPING_TIME = 1000;
/**
 * How many connections may linger. Each holds up to 128 KiB that is read but not discarded yet. During a flood of rejected
 * requests, the oldest of the holder that has most are destroyed sooner.
 */
const MAX_LINGERING = 256;

type State = {
  /** The token or the address that it counts for. */
  holder: string;
  /** Whether the response is complete. */
  isOver: boolean;
  /** On the monotonic clock, in ms. */
  endsAt: number;
  /** The bytes that the client's system had taken when `endsAt` was set. */
  sent: number;
};

const sentTo = (socket: Socket): number => socket.bytesWritten - socket.writableLength;

/**
 * Connections that are read only to discard what arrives. A client may write its whole request before it reads the
 * response. If the service stopped reading or closed the connection, the client would lose the response to a TCP reset.
 */
export const createLingering = ({ idle, total }: LingerTimes = LINGER_TIMES, holderOf = (_socket: Socket) => '') => {
  /** Oldest first. */
  const lingering = new Map<Socket, State>();
  const isOver = (socket: Socket) => lingering.get(socket)?.isOver === true;
  let isStopping = false;

  /** From now on, nothing that arrives is parsed. */
  const discardInput = (socket: Socket): void => {
    if (lingering.has(socket) || socket.destroyed) return;
    const state = { holder: holderOf(socket), isOver: false, endsAt: performance.now() + total, sent: sentTo(socket) };
    lingering.set(socket, state);
    // Those of readInSlices, which would pause the socket again.
    socket.removeAllListeners('resume').removeAllListeners('data');
    socket.on('data', () => {
      if (performance.now() >= state.endsAt) {
        // A response goes on as long as its client reads it.
        const sent = sentTo(socket);
        if (state.isOver || sent === state.sent) return void socket.destroy();
        Object.assign(state, { sent, endsAt: performance.now() + total });
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

  /** Of the holder that has most: the oldest whose response is complete, or else the oldest. */
  const destroyOne = () => {
    const byHolder = Map.groupBy(lingering.keys(), (socket) => lingering.get(socket)?.holder);
    const most = byHolder.values().reduce((a, b) => (b.length > a.length ? b : a));
    const oldest = most.find(isOver) ?? most[0];
    if (oldest !== undefined) lingering.delete(oldest);
    oldest?.destroy();
  };

  /** Discards what arrives and, if the client does not close its side in time, destroys the connection. */
  const add = (socket: Socket): void => {
    discardInput(socket);
    const state = lingering.get(socket);
    if (state === undefined) return;
    if (!state.isOver) Object.assign(state, { isOver: true, endsAt: performance.now() + total });
    socket.setTimeout(idle, () => socket.destroy());
    if (!isStopping) return;
    const timer = setTimeout(() => socket.destroy(), STOPPING_TIME).unref();
    socket.once('close', () => clearTimeout(timer));
  };

  return {
    has: (socket: Socket): boolean => lingering.has(socket),
    count: (): number => lingering.size,
    discardInput,
    add,
    remove: (socket: Socket): void => void lingering.delete(socket),
    /** The one whose response has been complete for longest. */
    oldest: (): Socket | undefined => lingering.keys().find(isOver),
    /** Shortens the times, so that lingering connections do not delay the stop of the server. */
    stop: (): void => {
      isStopping = true;
      for (const socket of lingering.keys()) if (isOver(socket)) add(socket);
    },
  };
};
