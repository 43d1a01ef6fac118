import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeAfter } from './close-in-stages.ts';
import { readInSlices } from './read-in-slices.ts';

/**
 * Requests that may wait behind others on their connections, over all connections; each takes some 4 KiB of memory. A client
 * that sends one more, and has more than a few, is disconnected.
 */
const MAX_WAITING = 2000;
const FEW_WAITING = 4;

type Connection = {
  /** The response in progress; undefined while the connection is idle. */
  current: ServerResponse | undefined;
  /** Starts each request that was read while another one was in progress. */
  waiting: (() => void)[];
  /** The response to the request that was read last, until it is finished. */
  last: ServerResponse | undefined;
  /** Whether the last request was answered before all of its body came. */
  hasBodyLeft: boolean;
  /** Bytes of responses that the client has taken, and when that last grew, in ms. */
  taken: number;
  takenAt: number;
};

/** Whether the body of a request is not read, or not yet. Pieces of one byte would pile up, at a quarter of a KiB each. */
const isUnread = (request: IncomingMessage | undefined): boolean =>
  request !== undefined && !request.complete && request.readableFlowing !== true;

/**
 * The open connections of a server. Each has at most one request in progress: what a client sends ahead (RFC 9112 §9.3.2)
 * waits for its turn. Nothing is parsed while requests wait, or while the body of the one in progress is not wanted.
 */
export const createConnections = () => {
  const connections = new Map<Socket, Connection>();
  let waitingInAll = 0;

  const forget = (socket: Socket) => {
    waitingInAll -= connections.get(socket)?.waiting.length ?? 0;
    connections.delete(socket);
  };

  const startNext = (socket: Socket, connection: Connection) => {
    // Neither is kept: connections may be idle for long, and a response refers to all of its request.
    if (connection.last === connection.current) {
      connection.hasBodyLeft = connection.last?.req.complete === false;
      connection.last = undefined;
    }
    connection.current = undefined;
    // A request behind a response that closed the connection would get no answer, so it is not executed (RFC 9112 §9.6).
    if (socket.writableEnded || socket.destroyed) return;
    const start = connection.waiting.shift();
    if (connection.waiting.length === 0 && socket.isPaused()) socket.resume();
    if (start === undefined) return;
    waitingInAll -= 1;
    start();
  };

  /** Calls `start` once everything before it on the connection is answered; never, if one of the answers closed it. */
  const enqueue = (socket: Socket, start: () => void) => {
    const connection = connections.get(socket);
    if (connection === undefined || socket.writableEnded || socket.destroyed) return;
    if (connection.current === undefined) return start();
    connection.waiting.push(start);
    waitingInAll += 1;
    if (waitingInAll > MAX_WAITING && connection.waiting.length > FEW_WAITING) socket.destroy();
  };

  return {
    add: (socket: Socket): void => {
      const connection: Connection = {
        current: undefined,
        waiting: [],
        last: undefined,
        hasBodyLeft: false,
        taken: 0,
        takenAt: performance.now(),
      };
      connections.set(socket, connection);
      socket.once('close', () => forget(socket));
      readInSlices(socket, () => connection.waiting.length > 0 || isUnread(connection.current?.req));
    },
    enqueue,
    /** Calls `handle` in the request's turn. `isLast`: no other request waits behind it. */
    serve: (request: IncomingMessage, response: ServerResponse, handle: (isLast: boolean) => void): void => {
      const { socket } = request;
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.last = response;
      connection.hasBodyLeft = false;
      enqueue(socket, () => {
        connection.current = response;
        response.once('close', () => startNext(socket, connection));
        handle(connection.waiting.length === 0);
      });
    },
    /** Calls `start` in the turn of the request that was read last, instead of handling it. */
    replaceLast: (socket: Socket, start: () => void): void => {
      connections.get(socket)?.waiting.splice(-1, 1, start);
    },
    find: (socket: Socket): Pick<Connection, 'current' | 'last' | 'hasBodyLeft'> | undefined => connections.get(socket),
    /** Makes the last response on each connection close it, where its header is not sent yet. */
    closeBehindResponses: (): void => {
      for (const { current, waiting } of connections.values()) {
        if (current && waiting.length === 0 && !current.headersSent) closeAfter(current);
      }
    },
    /** Whether a response is complete but not yet sent: Node.js takes its connection for an idle one. */
    isSending: (): boolean =>
      connections.values().some(({ current }) => current?.writableEnded === true && !current.writableFinished),
    /** Disconnects each client that has taken nothing of its response for `timeout` ms. */
    disconnectStalled: (timeout: number): void => {
      const now = performance.now();
      for (const [socket, connection] of connections) {
        const taken = socket.bytesWritten - socket.writableLength;
        if (socket.writableLength === 0 || taken !== connection.taken) {
          connection.taken = taken;
          connection.takenAt = now;
        } else if (now - connection.takenAt >= timeout) socket.destroy();
      }
    },
  };
};
