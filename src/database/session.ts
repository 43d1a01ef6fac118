import { Client } from 'pg';
import { closeWhenSilent, startSilenceTimeout, stopSilenceTimeout } from './silence-timeout.ts';
import type { Statements } from './statements.ts';

/** A dedicated connection to PostgreSQL, which keeps temporary tables and an open transaction between statements. */
export type DatabaseSession = Statements & {
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
export const createSessions = ({ url, connectTimeout, statementTimeout }: SessionOptions) => {
  const clients = new Set<Client>();
  let isClosed = false;
  const open: OpenSession = async () => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeout,
      statement_timeout: statementTimeout,
      keepAlive: true,
    });
    // A broken connection also rejects the statement. Without a listener, the event would crash the process.
    client.on('error', () => {});
    await client.connect();
    if (isClosed) {
      end(client);
      throw new Error('Connection terminated: the sessions are closed');
    }
    closeWhenSilent(client);
    clients.add(client);
    return {
      query: async <Row extends object>(sql: string, values: unknown[] = []) => {
        startSilenceTimeout(client, statementTimeout);
        try {
          return (await client.query<Row>(sql, values)).rows;
        } finally {
          stopSilenceTimeout(client);
        }
      },
      close: async () => {
        clients.delete(client);
        end(client);
      },
    };
  };
  return {
    open,
    /** Closes all sessions, also those that are being opened. Their statements and later calls of `open` are rejected. */
    close: (): void => {
      isClosed = true;
      clients.forEach(end);
    },
  };
};

/** Not awaited, because an unresponsive database does not close its end of the connection. */
const end = (client: Client): void => void client.end().catch(() => {});
