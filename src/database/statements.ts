import type { Pool } from 'pg';

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
 * Sends each statement on a free connection of the pool, and closes the pool. For imports, because Prisma makes several
 * copies of their long parameters.
 */
export const createPoolStatements = ({
  pool,
  onConnectionLost,
}: PoolStatementsOptions): Statements & { close: () => Promise<void> } => {
  pool.on('error', onConnectionLost);
  return {
    query: async <Row extends object>(sql: string, values: unknown[] = []) => (await pool.query<Row>(sql, values)).rows,
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
};
