import type { Pool, PoolClient } from 'pg';

/** Runs statements. */
export type Statements = {
  /** @returns the rows, with int8 values as text */
  query: <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>;
};

type PoolStatementsOptions = {
  pool: Pool;
  /** Called when an idle connection breaks. */
  onConnectionLost: (error: Error) => void;
};

/**
 * Sends each statement on a free connection of the pool. For imports, because Prisma makes several copies of their long
 * parameters. `close` closes the pool without waiting for statements, which may take a minute: they are rejected as if the
 * connection was lost. It may be called again, and resolves once the pool is closed.
 */
export const createPoolStatements = ({
  pool,
  onConnectionLost,
}: PoolStatementsOptions): Statements & { close: () => Promise<void> } => {
  const busy = new Set<PoolClient>();
  let closed: Promise<void> | undefined;
  pool.on('error', onConnectionLost);
  const assertOpen = () => {
    if (pool.ending) throw new Error('Connection terminated: the pool is closed');
  };
  return {
    // Not `pool.query`, which closes the connection if PostgreSQL rejects the statement, for example because an id is taken.
    query: async <Row extends object>(sql: string, values: unknown[] = []) => {
      assertOpen();
      const client = await pool.connect();
      busy.add(client);
      // A broken connection also rejects the statement. Without a listener, the event would crash the process.
      client.on('error', ignore);
      try {
        assertOpen();
        return (await client.query<Row>(sql, values)).rows;
      } finally {
        client.off('error', ignore);
        busy.delete(client);
        client.release();
      }
    },
    close: () => {
      if (!closed) {
        closed = pool.end();
        for (const client of busy) void client.end();
      }
      return closed;
    },
  };
};

const ignore = () => {};
