import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Response } from 'express';
import { createLingering, type LingerTimes } from './lingering.ts';
import { readInSlices } from './read-in-slices.ts';

/**
 * Requests that may wait behind others on their connections, in total; each takes about 4 KiB of memory. Past this
 * limit, a client with more than FEW_WAITING waiting requests is disconnected when it sends another.
 */
const MAX_WAITING = 2000;
const FEW_WAITING = 4;

const NOTHING = Buffer.alloc(0);

/** A response, with `locals` if Express handles it. */
export type ServedResponse = ServerResponse & Partial<Pick<Response, 'locals'>>;

type Connection = {
  /** The response in progress; undefined while the connection is idle. */
  current?: ServedResponse | undefined;
  /** Start the requests that were read while another one was in progress. */
  waiting: (() => void)[];
  /** The response to the most recently read request, until it is finished. */
  last?: ServedResponse | undefined;
  /** A request that was answered before its body was complete, until the rest arrives. */
  unfinished?: IncomingMessage | undefined;
  /** Bytes that the client has accepted, and those it still sends; and when that count last changed, in ms. */
  accepted: number;
  acceptedAt: number;
};

/**
 * Whether the body of a request is not being read. One-byte chunks would accumulate, at about 256 bytes of memory each.
 */
const isUnread = (request: IncomingMessage | undefined): boolean =>
  request !== undefined && !request.complete && request.readableFlowing !== true;

const noteUnfinished = (connection: Connection) => {
  const request = connection.last?.req;
  if (request === undefined || request.complete) return;
  connection.unfinished = request;
  request.once('end', () => {
    if (connection.unfinished === request) connection.unfinished = undefined;
  });
};

/**
 * The open connections of a server. Each has at most one request in progress; pipelined requests (RFC 9112 §9.3.2)
 * wait. Parsing pauses while requests wait, or while the body of the request in progress is not being read.
 */
export const createConnections = ({ lingerTimes }: { lingerTimes?: LingerTimes | undefined } = {}) => {
  const connections = new Map<Socket, Connection>();
  const lingering = createLingering(lingerTimes);
  let totalWaiting = 0;

  const forget = (socket: Socket) => {
    totalWaiting -= connections.get(socket)?.waiting.length ?? 0;
    connections.delete(socket);
    lingering.remove(socket);
  };

  const startNext = (socket: Socket, connection: Connection) => {
    // Drop the references: connections may be idle for a long time, and a response keeps its whole request in memory.
    if (connection.last === connection.current) {
      noteUnfinished(connection);
      connection.last = undefined;
    }
    connection.current = undefined;
    // If the last response closed the connection, later requests cannot get one and are not executed (RFC 9112 §9.6).
    if (socket.writableEnded || socket.destroyed) return;
    const start = connection.waiting.shift();
    if (connection.waiting.length === 0 && socket.isPaused()) socket.resume();
    if (start === undefined) return;
    totalWaiting -= 1;
    start();
  };

  /** Calls `start` after all earlier responses on the connection; never, if one of them closes it. */
  const enqueue = (socket: Socket, start: () => void) => {
    const connection = connections.get(socket);
    if (connection === undefined || socket.writableEnded || socket.destroyed) return;
    if (connection.current === undefined) return start();
    connection.waiting.push(start);
    totalWaiting += 1;
    if (totalWaiting > MAX_WAITING && connection.waiting.length > FEW_WAITING) socket.destroy();
  };

  /**
   * Sends the last bytes of a connection and closes it in stages (RFC 9112 §9.6). An immediate close would reset the
   * connection, and a client that is still sending would lose the response.
   */
  const endInStages = (socket: Socket, bytes = ''): void => {
    if (socket.writable) socket.end(bytes);
    lingering.add(socket);
  };

  return {
    add: (socket: Socket): void => {
      const connection: Connection = { waiting: [], accepted: 0, acceptedAt: performance.now() };
      connections.set(socket, connection);
      socket.once('close', () => forget(socket));
      // Node.js calls this once a response with `Connection: close` is sent.
      socket.destroySoon = () => endInStages(socket);
      readInSlices(
        socket,
        () => (connection.waiting.length > 0 || isUnread(connection.current?.req)) && !lingering.has(socket),
      );
    },
    enqueue,
    endInStages,
    isLingering: lingering.has,
    stopLingering: lingering.stop,
    /** Calls `handle` when it is the request's turn. `isLast`: no other request waits behind it. */
    serve: (request: IncomingMessage, response: ServerResponse, handle: (isLast: boolean) => void): void => {
      const { socket } = request;
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.last = response;
      connection.unfinished = undefined;
      enqueue(socket, () => {
        connection.current = response;
        response.once('close', () => startNext(socket, connection));
        handle(connection.waiting.length === 0);
      });
    },
    /** Calls `start` instead of handling the most recently read request. */
    replaceLast: (socket: Socket, start: () => void): void => {
      connections.get(socket)?.waiting.splice(-1, 1, start);
    },
    /** Requests in progress or waiting, and connections that linger. */
    inUse: () => ({
      requests: totalWaiting + [...connections.values()].filter(({ current }) => current !== undefined).length,
      lingering: lingering.count(),
    }),
    find: (socket: Socket): Pick<Connection, 'current' | 'last' | 'unfinished'> | undefined => connections.get(socket),
    /** Makes the last response on each connection close it, unless its header is already sent. */
    closeBehindResponses: (): void => {
      for (const { current, waiting } of connections.values()) {
        if (current && waiting.length === 0 && !current.headersSent) current.setHeader('Connection', 'close');
      }
    },
    /** Whether a response is complete but not yet sent. Node.js considers such a connection idle. */
    isSending: (): boolean =>
      connections.values().some(({ current }) => current?.writableEnded === true && !current.writableFinished),
    /**
     * Disconnects clients that have accepted no response bytes for `timeout` ms, or for the response's `allowedPause`. A client
     * whose bytes are discarded may send all of them first.
     */
    disconnectStalled: (timeout: number): void => {
      const now = performance.now();
      for (const [socket, connection] of connections) {
        const discarded = lingering.has(socket) ? socket.bytesRead : 0;
        const accepted = socket.bytesWritten - socket.writableLength + discarded;
        if (socket.writableLength === 0 || accepted !== connection.accepted) {
          connection.accepted = accepted;
          connection.acceptedAt = now;
        } else if (now - connection.acceptedAt >= (connection.current?.locals?.allowedPause ?? timeout))
          socket.destroy();
      }
    },
    /**
     * Closes connections whose clients are gone, which Node.js would notice only when it sends the response. A client that has
     * ended its side may still wait for the response, or may have closed the connection. In the second case its system resets
     * the connection when data arrives, here an interim response (RFC 9110 §15.2). An empty write detects a reset while the
     * connection is not being read. A client that writes its whole body before it reads a response larger than the buffers of
     * the system would wait for ever: the rest of a body that is not read is discarded once the response has begun.
     */
    probe: (): void => {
      for (const [socket, { current }] of connections) {
        if (current === undefined || !socket.writable) continue;
        if (current.headersSent) {
          const isLast = current.getHeader('Connection') === 'close';
          if (isLast && isUnread(current.req)) lingering.discardInput(socket);
        } else if (!socket.readableEnded) {
          if (socket.isPaused()) socket.write(NOTHING);
        } else if (current.req.httpVersion === '1.1') current.writeContinue();
      }
    },
  };
};

export type Connections = ReturnType<typeof createConnections>;
