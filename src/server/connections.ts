import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Response } from 'express';
import type { Logger } from 'pino';
import { nameHolder } from '../http/byte-budget.ts';
import { clientIp } from '../http/client-address.ts';
import { createLingering, type LingerTimes } from './lingering.ts';
import { maxClientConnections } from './open-files.ts';
import { readInSlices, STOP_PARSING } from './read-in-slices.ts';

/** How often to warn that there are too many connections, in ms. */
const WARNING_INTERVAL = 60_000;
/** How long a new connection has to send a request before it is the first to be closed, in ms. */
const ARRIVAL_TIME = 20;
const NOTHING = Buffer.alloc(0);

/** A response, with `locals` if Express handles it. */
export type ServedResponse = ServerResponse & Partial<Pick<Response, 'locals'>>;

export type ConnectionsOptions = {
  /** How many connections may be open. A further one replaces an idle one; if none is idle, it is closed at once. */
  maxConnections?: number | undefined;
  /** How long a client may take to send a header, or the rest of a body after its response, or may read nothing of a response, in ms. */
  requestTimeout: number;
  lingerTimes?: LingerTimes | undefined;
  logger?: Pick<Logger, 'info' | 'warn'> | undefined;
};

/** Whether the body of a request is not being read. One-byte chunks would accumulate, at about 256 bytes of memory each. */
const isUnread = (request: IncomingMessage | undefined): boolean =>
  request !== undefined && !request.complete && request.readableFlowing !== true;

/** The open connections of a server. Each has at most one request in progress. */
export const createConnections = (options: ConnectionsOptions) => {
  const { requestTimeout, lingerTimes, logger } = options;
  const { maxConnections: wanted = Number.POSITIVE_INFINITY } = options;
  const maxConnections = Math.min(wanted, maxClientConnections());
  // The default may be a little above a limit of the system.
  if (wanted < Number.POSITIVE_INFINITY && maxConnections < 0.9 * wanted)
    logger?.warn(
      { maxConnections },
      'MAX_CONNECTIONS is more than this process may have (ulimit -n); fewer are accepted',
    );
  /**
   * With their responses in progress; `restEndsAt`: when the rest of a body must have come whose request has its response. Not a map
   * of responses: one that gains and loses a response with each request keeps most of them until V8's next major collection, which
   * took a quarter of the CPU.
   */
  const open = new Map<Socket, { response?: ServedResponse | undefined; restEndsAt?: number }>();
  /** Those that never sent a request, oldest first; and whether they had time for it. */
  const fresh = new Map<Socket, boolean>();
  /** Those that wait for the next request, longest idle first; with the last one, if its response came before all of its body. */
  const kept = new Map<Socket, IncomingMessage | undefined>();
  const lingering = createLingering(lingerTimes, (socket) => {
    const { locals = { client: clientIp({ socket }) } } = current(socket) ?? {};
    return nameHolder({ locals });
  });
  let refusedConnections = 0;
  let earlyRequests = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const forget = (socket: Socket) => {
    for (const group of [open, fresh, kept]) group.delete(socket);
    lingering.remove(socket);
  };

  /** Closes the connection that an idle client needs least, or else the new one. */
  const makeRoomFor = (socket: Socket) => {
    const [[oldest, isSilent] = []] = fresh;
    const [longest] = kept.keys();
    const idle = (isSilent ? oldest : (longest ?? oldest)) ?? lingering.oldest() ?? socket;
    if (idle === socket) refusedConnections += 1;
    forget(idle);
    idle.destroy();
    if (performance.now() - warnedAt < WARNING_INTERVAL) return;
    warnedAt = performance.now();
    const message =
      'the maximum number of connections is reached: a new one replaces an idle one, or is closed at once';
    logger?.warn({ maxConnections, refused: refusedConnections }, message);
  };

  /**
   * Closes a connection in stages (RFC 9112 §9.6). An immediate close would reset it, and a client that is still sending would
   * lose the response.
   */
  const endInStages = (socket: Socket): void => {
    if (socket.writable) socket.end();
    lingering.add(socket);
  };

  /** Drops what came before the response to the request before it was complete, and closes the connection behind that. */
  const closeBehind = (socket: Socket, current: ServerResponse): void => {
    earlyRequests += 1;
    const message = 'a request came before the previous response and was not carried out';
    logger?.info({ client: clientIp({ socket }) }, message);
    if (current.headersSent) current.once('finish', () => endInStages(socket));
    else current.setHeader('Connection', 'close');
    lingering.discardInput(socket);
  };

  const current = (socket: Socket) => open.get(socket)?.response;
  /** Whether what arrives is the rest of a body whose request has its response. */
  const isAnswered = (socket: Socket): boolean => kept.get(socket)?.complete === false;
  const inProgress = () => [...open.values()].flatMap(({ response }) => response ?? []);

  const onResponded = (socket: Socket, request: IncomingMessage) => {
    const connection = open.get(socket);
    if (connection) connection.response = undefined;
    if (socket.destroyed || lingering.has(socket)) return;
    // An idle connection keeps no memory of its past requests.
    kept.set(socket, request.complete ? undefined : request);
    if (!request.complete) {
      // Nobody reads its header any more, which may take 16 KiB and more.
      Object.assign(request, { headers: {}, rawHeaders: [] });
      if (connection) connection.restEndsAt = performance.now() + requestTimeout;
    }
    if (socket.isPaused()) socket.resume();
  };

  return {
    /** The connections that are open and may be, and since the start those that were refused and the requests that came too early. */
    counts: () => ({ connections: open.size, maxConnections, refusedConnections, earlyRequests }),
    add: (socket: Socket): void => {
      if (open.size >= maxConnections) makeRoomFor(socket);
      if (socket.destroyed) return;
      open.set(socket, {});
      fresh.set(socket, false);
      // In a busy process, what it has sent is read between the two.
      const markSilent = () => setImmediate(() => fresh.has(socket) && fresh.set(socket, true));
      setTimeout(markSilent, ARRIVAL_TIME).unref();
      socket.once('close', () => forget(socket));
      // Node.js would end its own side once all is sent, and so never if the client does not read.
      socket.once('end', () => {
        const response = current(socket);
        if (response?.headersSent && !response.writableEnded) socket.destroy();
      });
      // Node.js calls this once a response with `Connection: close` is sent.
      socket.destroySoon = () => endInStages(socket);
      readInSlices(socket, () => isUnread(current(socket)?.req) && !lingering.has(socket));
    },
    /** @throws STOP_PARSING if the request came before the response to the one before it was complete */
    begin: (request: IncomingMessage, response: ServedResponse): void => {
      const { socket } = request;
      const before = current(socket);
      if (before !== undefined) {
        closeBehind(socket, before);
        throw STOP_PARSING;
      }
      if (!kept.delete(socket)) fresh.delete(socket);
      const connection = open.get(socket);
      if (connection) connection.response = response;
      response.once('close', () => onResponded(socket, request));
    },
    closeBehind,
    discardInput: lingering.discardInput,
    endInStages,
    isLingering: lingering.has,
    /** Ends the connections that wait for a request, or for the rest of one whose response is sent. The others end by themselves. */
    stopWaiting: (): void => {
      lingering.stop();
      for (const socket of [...kept.keys()]) endInStages(socket);
    },
    /** The response in progress. */
    current,
    isAnswered,
    /** Requests in progress, and connections that linger. */
    inUse: () => ({ requests: inProgress().length, lingering: lingering.count() }),
    /** Makes each response close its connection, unless its header is already sent. */
    closeBehindResponses: (): void => {
      for (const response of inProgress()) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    /** Whether a response is complete but not yet sent. Node.js considers such a connection idle. */
    isSending: (): boolean => inProgress().some((response) => response.writableEnded && !response.writableFinished),
    /** Closes a connection without traffic, unless the service has yet to respond, or the client to send its first header. */
    onTimeout: (socket: Socket): void => {
      if (socket.writableLength > 0 || kept.has(socket)) socket.destroy();
    },
    /**
     * Closes connections on which the rest of a body takes too long, and looks after those that are not read, because the body of
     * their request is not wanted yet. An empty write detects a reset. A client that writes its whole body before it reads a response
     * larger than the buffers of the system would wait for ever: the rest of its body is discarded once the response has begun.
     */
    probe: (): void => {
      const now = performance.now();
      for (const [socket, { response, restEndsAt = now }] of open) {
        if (now > restEndsAt && isAnswered(socket) && !lingering.has(socket)) socket.destroy();
        else if (response?.headersSent) {
          const isLast = response.getHeader('Connection') === 'close';
          if (isLast && isUnread(response.req)) lingering.discardInput(socket);
        } else if (response && socket.isPaused() && socket.writable) socket.write(NOTHING);
      }
    },
  };
};

export type Connections = ReturnType<typeof createConnections>;
