import type { Socket } from 'node:net';
import type { Client } from 'pg';

/**
 * PostgreSQL cancels statements that exceed their time limit. If a connection is silent for a quarter longer than that,
 * PostgreSQL is unreachable, and the connection is closed. The driver's `query_timeout` would keep each statement in memory (record 0034).
 */
const FACTOR = 1.25;

export class SilenceError extends Error {
  override name = 'SilenceError';
}

/** Closes the connection once the timeout that `setSilenceTimeout` sets has expired. */
export const closeWhenSilent = (client: Client): void => {
  const socket = socketOf(client);
  socket.on('timeout', () => {
    const { bytesRead } = socket;
    // After a busy period Node.js runs timers before it reads sockets: a response may have arrived.
    setImmediate(() => {
      if (socket.bytesRead === bytesRead)
        socket.destroy(new SilenceError('Connection terminated: PostgreSQL did not respond in time'));
    });
  });
};

/** @param statementTimeout in ms; 0: none */
export const setSilenceTimeout = (client: Client, statementTimeout: number): void => {
  socketOf(client).setTimeout(FACTOR * statementTimeout);
};

/** pg's types allow any stream. Nothing here passes one to it, so it is a socket. */
export const socketOf = ({ connection }: Client): Socket => connection.stream as Socket;
