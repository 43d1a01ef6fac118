import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/prisma/client.ts';

export type Database = PrismaClient;

/** How long to wait for a connection to PostgreSQL, in ms, before saying that there is none. */
export const CONNECT_TIMEOUT = 2000;

type DatabaseOptions = {
  url: string;
  connections: number;
  /** How long a statement may take, in ms; one that takes longer is given up and its connection closed. */
  statementTimeout: number;
  /** Told of a connection that broke while nobody used it. */
  onConnectionLost: (error: Error) => void;
};

/** The client of the database; it connects when it is first asked something. */
export const createDatabase = ({ url, connections, statementTimeout, onConnectionLost }: DatabaseOptions): Database =>
  new PrismaClient({
    adapter: new PrismaPg(
      {
        connectionString: url,
        max: connections,
        connectionTimeoutMillis: CONNECT_TIMEOUT,
        // PostgreSQL ends the statement; where it cannot be reached any more, the driver gives the connection up.
        statement_timeout: statementTimeout,
        query_timeout: statementTimeout,
        keepAlive: true,
      },
      { onPoolError: onConnectionLost, statementNameGenerator: createStatementNames() },
    ),
    errorFormat: 'minimal',
  });

/** Names for the store's statements, of which there is a handful: PostgreSQL parses each once a connection. */
const createStatementNames = () => {
  const names = new Map<string, string>();
  return ({ sql }: { sql: string }): string => {
    const name = names.get(sql) ?? `statement_${names.size}`;
    names.set(sql, name);
    return name;
  };
};
