import type { Socket } from 'node:net';
import { Client } from 'pg';

/** A dedicated connection to PostgreSQL, which keeps temporary tables and an open transaction between statements. */
export type DatabaseSession = {
  /** @returns the rows, with int8 values as text */
  query: <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>;
  /** Rolls back an open transaction and drops temporary tables. */
  close: () => Promise<void>;
};

export type OpenSession = () => Promise<DatabaseSession>;

type SessionOptions = {
  url: string;
  /** The timeout for opening a connection, in ms. */
  connectTimeout: number;
  /** How long a statement may take before PostgreSQL cancels it, in ms. */
  statementTimeout: number;
};

/** Sessions are separate from the connection pool, so that one that waits for its client blocks no other request. */
export const createSessions =
  ({ url, connectTimeout, statementTimeout }: SessionOptions): OpenSession =>
  async () => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeout,
      statement_timeout: statementTimeout,
      keepAlive: true,
    });
    // A broken connection also rejects the statement. Without a listener, the event would crash the process.
    client.on('error', () => {});
    await client.connect();
    const socket = socketOf(client);
    socket.on('timeout', () => socket.destroy(new Error('Connection terminated: PostgreSQL did not respond in time')));
    return {
      query: async <Row extends object>(sql: string, values: unknown[] = []) => {
        // Longer than the statement timeout, as in the pool: PostgreSQL gets the chance to cancel the statement itself.
        socket.setTimeout(1.1 * statementTimeout);
        try {
          return (await client.query<Row>(sql, values)).rows;
        } finally {
          socket.setTimeout(0);
        }
      },
      close: async () => {
        // Not awaited, because an unresponsive database does not close its end of the connection.
        client.end().catch(() => {});
      },
    };
  };

/** `connection` is missing in the types of `pg`. */
const socketOf = (client: Client) => (client as Client & { connection: { stream: Socket } }).connection.stream;
