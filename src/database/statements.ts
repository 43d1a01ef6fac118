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
 * connection was lost.
 */
export const createPoolStatements = ({
  pool,
  onConnectionLost,
}: PoolStatementsOptions): Statements & { close: () => Promise<void> } => {
  const busy = new Set<PoolClient>();
  pool.on('error', onConnectionLost);
  pool.on('acquire', (client) => busy.add(client));
  pool.on('release', (_error, client) => busy.delete(client));
  return {
    query: async <Row extends object>(sql: string, values: unknown[] = []) => {
      if (pool.ending) throw new Error('Connection terminated: the pool is closed');
      return (await pool.query<Row>(sql, values)).rows;
    },
    close: async () => {
      if (pool.ending) return;
      const closed = pool.end();
      for (const client of busy) void client.end();
      await closed;
    },
  };
};
